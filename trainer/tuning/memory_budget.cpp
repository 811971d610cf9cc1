#include "trainer/tuning/memory_budget.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "topology/discovery/cgroup_memory.hpp"

namespace dllaunch {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

/// Returns a field of /proc/self/statm, which counts pages, in bytes.
std::int64_t statm_bytes(int field) {
  std::ifstream in("/proc/self/statm");
  std::int64_t pages = 0;
  for (int i = 0; i <= field; ++i) in >> pages;
  return in ? pages * sysconf(_SC_PAGESIZE) : 0;
}

std::int64_t own_limit_left(int resource, std::int64_t used) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      limit.rlim_cur > static_cast<rlim_t>(no_limit)) {
    return no_limit;
  }
  return static_cast<std::int64_t>(limit.rlim_cur) - used;
}

}  // namespace

std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view name) {
  while (!meminfo.empty()) {
    std::string_view line = next_line(meminfo);
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with(":")) continue;
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto kib = limit_bytes(line.substr(0, line.find(' ')));
    if (!kib || *kib > no_limit / 1024) return std::nullopt;
    return *kib * 1024;
  }
  return std::nullopt;
}

std::int64_t node_memory_left(const std::string& root) {
  std::int64_t left =
      meminfo_bytes(text_of(root + "/proc/meminfo"), "MemAvailable").value_or(no_limit);
  if (const auto cgroup = cgroup_memory("self", root))
    left = std::min(left, cgroup->limit_bytes - cgroup->used_bytes);
  return std::max<std::int64_t>(left, 0);
}

std::int64_t own_memory_left() {
  constexpr int size_field = 0;
  constexpr int data_field = 5;
  const std::int64_t left = std::min(own_limit_left(RLIMIT_AS, statm_bytes(size_field)),
                                     own_limit_left(RLIMIT_DATA, statm_bytes(data_field)));
  return std::max<std::int64_t>(left, 0);
}

std::int64_t rank_memory_left(int ranks_on_node) {
  constexpr double share = 0.9;
  const std::int64_t node = node_memory_left() / std::max(ranks_on_node, 1);
  return static_cast<std::int64_t>(share * static_cast<double>(std::min(node, own_memory_left())));
}

std::int64_t resident_bytes() {
  constexpr int resident_field = 1;
  return statm_bytes(resident_field);
}

}  // namespace dllaunch
