// The files of a data set's folder, as a list that can be compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct StagedFile {
  std::string name;  // relative; a folder's ends in '/'
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;  // 0 for a folder
  bool is_folder() const { return name.back() == '/'; }
};

/// Called for every entry, to show waiting processes that this one is alive.
using Tick = std::function<void()>;

/// Returns unsatisfiable with a hint to read in place if the storage is full, else unavailable.
Error staging_error(const std::string& what, const std::filesystem::path& path, int why);

/// Returns all regular files and folders below `folder`, each folder before its content. Follows
/// links; ignores broken ones.
Result<std::vector<StagedFile>> list_files(const std::filesystem::path& folder, const Tick& tick);

/// A hash of names, sizes and times.
std::uint64_t key_of(const std::vector<StagedFile>& files);

/// Ignores times: not every file system stores nanoseconds.
bool same_names_and_sizes(const std::vector<StagedFile>& a, const std::vector<StagedFile>& b);

/// Ignores what cannot be removed.
void remove_tree(const std::filesystem::path& folder, const Tick& tick);

}  // namespace dllaunch
