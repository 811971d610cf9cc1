// The networks that a job file can name.
#pragma once

#include <span>
#include <string_view>

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// One line per model; the build writes the table from dllaunch_models() in trainer/CMakeLists.txt.
struct ModelEntry {
  std::string_view name;  // what the user types
  std::string_view summary;
  Result<Graph> (*build)(const ImageShape& image, int classes);
  std::string_view loss = {};  // of `loss: auto`; empty: what fits the targets
};
std::span<const ModelEntry> models();

}  // namespace dllaunch
