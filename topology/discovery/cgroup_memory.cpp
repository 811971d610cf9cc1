#include "topology/discovery/cgroup_memory.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include <fmt/core.h>

#include "support/parse_number.hpp"
#include "topology/discovery/cgroup_paths.hpp"

namespace dllaunch {
namespace {

constexpr std::int64_t unlimited = std::int64_t{1} << 62;  // version 1 has a number for it

std::string file_of_cgroup(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The value of the line "NAME VALUE" in memory.stat.
std::int64_t stat_value(const std::string& stat, const std::string& name) {
  const auto found = ("\n" + stat).find("\n" + name + " ");
  if (found == std::string::npos) return 0;
  const auto from = found + name.size() + 1;
  return limit_bytes(stat.substr(from, stat.find('\n', from) - from)).value_or(0);
}

/// File names of one cgroup version.
struct Names {
  const char* mount;
  const char* limit;
  const char* used;
  std::array<const char*, 2> cache;  // keys in memory.stat
};

void look_at(const std::string& root, const Names& names, std::string path,
             std::optional<CgroupMemory>& tightest) {
  while (true) {
    const std::string folder = fmt::format("{}{}{}/", root, names.mount, path);
    const auto limit = limit_bytes(file_of_cgroup(folder + names.limit));
    const auto used = limit_bytes(file_of_cgroup(folder + names.used));
    if (limit && used && *limit < unlimited) {
      const std::string stat = file_of_cgroup(folder + "memory.stat");
      std::int64_t cache = 0;
      for (const char* const key : names.cache) cache += stat_value(stat, key);
      const CgroupMemory memory{*limit, std::max<std::int64_t>(*used - cache, 0)};
      if (!tightest ||
          memory.limit_bytes - memory.used_bytes < tightest->limit_bytes - tightest->used_bytes) {
        tightest = memory;
      }
    }
    if (path.empty() || path == "/") return;
    path.erase(path.rfind('/'));
  }
}

}  // namespace

std::optional<CgroupMemory> cgroup_memory(const std::string& process, const std::string& root) {
  constexpr Names unified{
      "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}};
  constexpr Names memory{"/sys/fs/cgroup/memory",
                         "memory.limit_in_bytes",
                         "memory.usage_in_bytes",
                         {"total_inactive_file", "total_active_file"}};
  const auto paths =
      parse_proc_cgroup(file_of_cgroup(fmt::format("{}/proc/{}/cgroup", root, process)));
  std::optional<CgroupMemory> tightest;
  look_at(root, unified, paths.unified, tightest);
  look_at(root, memory, paths.memory, tightest);
  return tightest;
}

std::optional<std::int64_t> limit_bytes(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const auto value = parse_number<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace dllaunch
