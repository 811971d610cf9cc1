// Copies a data set's files to local storage of the node, once for all its ranks.
// Knows nothing about the format of the files.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string_view>

#include "support/result.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

struct StagingOptions {
  std::filesystem::path from;         // folder of the data set
  std::filesystem::path to;           // local folder; created if absent
  std::chrono::seconds patience{60};  // without progress of the copying process
  std::function<void(std::string_view)> say = [](std::string_view) {};  // receives progress
                                                                        // messages
  std::chrono::milliseconds told_every{5000};
};

/// Other jobs do not remove the copy while this object exists.
struct StagedCopy {
  std::filesystem::path path;
  FileDescriptor held;
};

/// Copies `from` to a folder of its own in `to` and returns it. Called by all ranks of a node, and
/// possibly by other jobs of this user: one process copies, the others wait. The folder's name is a
/// hash of names, sizes and times of the originals, so a changed `from` gets a new copy; outdated
/// copies are removed when unused. A copy in progress has a temporary name.
///
/// unsatisfiable: no space. timeout: the copying process made no progress. unavailable: a file
/// cannot be read, written or locked, or belongs to another user. On error the temporary copy is
/// removed. Waiting processes return the error of the copying one.
Result<StagedCopy> stage_dataset(const StagingOptions& options);

}  // namespace dllaunch
