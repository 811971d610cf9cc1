// Paths of this program, its trainer and the current folder.
#pragma once

#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Absolute paths on the shared file system.
struct Paths {
  std::string dllaunch = {};  // this program
  std::string dltrain = {};
  std::string run_dir = {};
  /// Where the supervisor and the ranks read what they execute, if others can replace run_dir.
  std::string files = {};
  std::string work_dir = {};  // where the user called dllaunch: `run:` commands start here
  std::vector<std::string> trainer_gpus = {};  // GPU kinds that dltrain supports: cuda, hip
};

/// `dltrain` is the one beside this program. `run_dir` is made absolute but not created.
/// unavailable: /proc or the current folder cannot be read.
Result<Paths> program_paths(const std::string& run_dir);

}  // namespace dllaunch
