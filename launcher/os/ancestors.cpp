#include "launcher/os/ancestors.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>

namespace dllaunch {
namespace {

constexpr int field_of_start = 22;  // proc(5); the parent is field 4
constexpr std::size_t most_ancestors = 64;

ProcessStat read_stat(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid), std::ios::binary);
  // Reading fails if the process ends at this moment: operator<< catches that, an iterator throws.
  std::ostringstream text;
  text << file.rdbuf();
  return parse_stat(text.str());
}

}  // namespace

ProcessStat parse_stat(std::string_view text) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  ProcessStat stat{.name = std::string(text.substr(open + 1, close - open - 1))};
  std::string_view rest = text.substr(close + 1);
  for (int field = 3; field <= field_of_start && !rest.empty(); ++field) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const auto word = rest.substr(0, rest.find(' '));
    if (field == 4) std::from_chars(word.data(), word.data() + word.size(), stat.parent);
    if (field == field_of_start) stat.started = word;
    rest.remove_prefix(word.size());
  }
  return stat;
}

std::vector<std::string> ancestor_names() {
  std::vector<std::string> names;
  pid_t pid = getppid();
  while (pid > 0 && names.size() < most_ancestors) {
    auto stat = read_stat(pid);
    if (stat.name.empty()) break;
    names.push_back(std::move(stat.name));
    pid = stat.parent;
  }
  return names;
}

std::string parent_identity() {
  const pid_t parent = getppid();
  return fmt::format("{}-{}", parent, read_stat(parent).started);
}

}  // namespace dllaunch
