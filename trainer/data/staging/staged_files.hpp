// What a data set's folder holds, for a copy of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct StagedFile {
  std::string name;  // relative; that of a folder ends with '/'
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;  // 0 for a folder
  bool is_folder() const { return name.back() == '/'; }
};

/// Called for every entry: those who wait for this process see that it works.
using Tick = std::function<void()>;

/// Full: unsatisfiable, with the hint to read in place. Else unavailable.
Error staging_error(const std::string& what, const std::filesystem::path& path, int why);

/// All regular files and folders under `folder`, a folder before what is in it. Links are followed;
/// those that lead nowhere are left out.
Result<std::vector<StagedFile>> list_files(const std::filesystem::path& folder, const Tick& tick);

/// Changes with names, sizes and times.
std::uint64_t key_of(const std::vector<StagedFile>& files);

/// Times may differ: not every file system stores them in nanoseconds.
bool same_names_and_sizes(const std::vector<StagedFile>& a, const std::vector<StagedFile>& b);

/// What cannot be removed stays.
void remove_tree(const std::filesystem::path& folder, const Tick& tick);

}  // namespace dllaunch
