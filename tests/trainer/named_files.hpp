// What the files of a table's folder call themselves. A file that its table does not list is found.
#pragma once

#include <regex.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace dllaunch {

/// The last group of `pattern` in each file of a folder of the source tree that has a match. By the
/// C library, since <regex> takes seconds to compile.
inline std::set<std::string> named_in(const std::string& folder, const std::string& pattern) {
  std::set<std::string> names;
  regex_t name;
  if (regcomp(&name, pattern.c_str(), REG_EXTENDED) != 0) return {"not a pattern: " + pattern};
  std::vector<regmatch_t> groups(name.re_nsub + 1);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DLLAUNCH_SOURCE_DIR) + "/" + folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path());
    const std::string text(std::istreambuf_iterator<char>(in), {});
    if (regexec(&name, text.c_str(), groups.size(), groups.data(), 0) != 0) continue;
    const auto [begin, end] = groups.back();
    names.insert(
        text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  }
  regfree(&name);
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
