// A data set's files, copied to storage of the node once for all its ranks.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string_view>

#include "topology/result.hpp"

namespace dllaunch {

struct StagingOptions {
  std::filesystem::path from;         // the data set's folder
  std::filesystem::path to;           // a folder of the node; made if absent
  std::chrono::seconds patience{60};  // with a rank that copies and makes no progress
  std::function<void(std::string_view)> say = [](std::string_view) {};  // hears of progress
};

/// Copies `from` to a folder of its own in `to` and returns that. Called by all ranks of a node,
/// and by other jobs: one copies, the others wait for it. A copy whose files have the names, sizes
/// and times of the originals is used as it is. What is copied has a temporary name until it is
/// whole.
///
/// unsatisfiable: the storage of the node has no room. timeout: the rank that copies has stopped.
/// unavailable: it cannot be read or written. The temporary copy is gone then.
Result<std::filesystem::path> stage_dataset(const StagingOptions& options);

}  // namespace dllaunch
