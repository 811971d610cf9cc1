// The files of a run's directory: a table for people, `dllaunch help run-directory`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

}  // namespace dllaunch
