// The files of a run's directory: a table for people, `dllaunch help run-directory`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// How long a file is needed.
enum class Keep : std::uint8_t { to_continue, to_look_back, while_it_runs };

struct RunDirFile {
  std::string_view name;  // a pattern of glob(7); a folder ends in '/'
  std::string_view meaning;
  std::string_view writer;
  Keep keep;
};

std::span<const RunDirFile> run_dir_files();

/// Returns the row of a file or folder by its name in the directory; nullptr: unknown.
const RunDirFile* run_dir_file(std::string_view name);

/// What stands in the place of the run's files and is not read, as dllaunch has not written it:
/// "out/rank-0000-n1.log is a link". Links that are followed are the user's.
std::vector<std::string> odd_files(const RunDir& run);

/// Identifies what the program itself has written into the run's directory, by names, sizes and
/// times of its files: another number means that it has saved something since.
std::uint64_t own_files(const RunDir& run);

}  // namespace dllaunch
