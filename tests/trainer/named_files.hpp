// What the files of a table's folder call themselves. A file that its table does not list is found.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace dllaunch {

/// The first group of `pattern` in each file of a folder of the source tree that has a match.
inline std::set<std::string> named_in(const std::string& folder, const std::string& pattern) {
  std::set<std::string> names;
  const std::regex name(pattern);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DLLAUNCH_SOURCE_DIR) + "/" + folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path());
    const std::string text(std::istreambuf_iterator<char>(in), {});
    std::smatch match;
    if (std::regex_search(text, match, name)) names.insert(match[1]);
  }
  return names;
}

/// Of structs that say `name = "..."`.
inline std::set<std::string> kinds_in(const std::string& folder) {
  return named_in(folder, "string_view name = \"([^\"]+)\"");
}

template <typename Table>
std::set<std::string> names_of(const Table& table) {
  std::set<std::string> names;
  for (const auto& row : table) names.emplace(row.name);
  return names;
}

}  // namespace dllaunch
