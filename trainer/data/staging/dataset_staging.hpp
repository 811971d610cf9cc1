// A data set's files, copied to storage of the node once for all its ranks.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string_view>

#include "support/result.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

struct StagingOptions {
  std::filesystem::path from;         // the data set's folder
  std::filesystem::path to;           // a folder of the node; made if absent
  std::chrono::seconds patience{60};  // with a rank that copies and makes no progress
  std::function<void(std::string_view)> say = [](std::string_view) {};  // hears of progress
  std::chrono::milliseconds told_every{5000};
};

/// As long as this lives, no other job removes the copy.
struct StagedCopy {
  std::filesystem::path path;
  FileDescriptor held;
};

/// Copies `from` to a folder of its own in `to`. Called by all ranks of a node, and by other jobs
/// of this user: one copies, the others wait for it. The folder's name tells names, sizes and times
/// of the originals, so that a changed `from` has another copy; copies of what it was before are
/// removed when nobody holds them. What is being copied has a temporary name until it is whole.
///
/// unsatisfiable: the storage of the node has no room. timeout: the rank that copies has stopped.
/// unavailable: it cannot be read, written or locked, or belongs to another user. The temporary
/// copy is gone then. Those who waited get the error of the one who copied.
Result<StagedCopy> stage_dataset(const StagingOptions& options);

}  // namespace dllaunch
