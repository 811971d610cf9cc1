// The networks that a job file can name: functions from image shape and classes to a Graph.
// Knows nothing about how a graph is computed or trained.
#pragma once

#include <span>
#include <string_view>

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// One row per model. The build generates the table from dllaunch_models() in
/// trainer/CMakeLists.txt.
struct ModelEntry {
  std::string_view name;  // the name in a job file
  std::string_view summary;
  Result<Graph> (*build)(const ImageShape& image, int classes);
  std::string_view loss = {};  // for `loss: auto`; empty: chosen by the kind of targets
};
std::span<const ModelEntry> models();

/// Returns nullptr if there is no such model.
inline const ModelEntry* find_model(std::string_view name) {
  for (const ModelEntry& entry : models()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace dllaunch
