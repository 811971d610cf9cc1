#include "topology/discovery/cpu_quota.hpp"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "support/parse_number.hpp"
#include "topology/discovery/cgroup_paths.hpp"

namespace dllaunch {
namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string_view one_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

using ReadQuota = std::optional<std::int64_t> (*)(const std::string& folder);

std::optional<std::int64_t> version_two(const std::string& folder) {
  return cpus_of_cpu_max(text_of(folder + "/cpu.max"));
}

std::optional<std::int64_t> version_one(const std::string& folder) {
  return cpus_of_cfs(text_of(folder + "/cpu.cfs_quota_us"), text_of(folder + "/cpu.cfs_period_us"));
}

/// Takes a smaller quota of the group at `path`, or of one above it, into `least`.
void look(const std::string& mount, std::string path, ReadQuota read,
          std::optional<CpuQuota>& least) {
  if (path.empty()) return;
  while (true) {
    const std::string folder = mount + path;
    const auto cpus = read(folder);
    struct stat about = {};
    if (cpus && (!least || *cpus <= least->whole_cpus) && ::stat(folder.c_str(), &about) == 0)
      least = {.whole_cpus = *cpus, .group = static_cast<std::int64_t>(about.st_ino)};
    if (path.empty() || path == "/") return;
    path.erase(path.rfind('/'));
  }
}

}  // namespace

std::optional<std::int64_t> cpus_of_cpu_max(std::string_view text) {
  text = one_line(text);
  const auto blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return cpus_of_cfs(text.substr(0, blank), text.substr(blank + 1));
}

std::optional<std::int64_t> cpus_of_cfs(std::string_view quota, std::string_view period) {
  const auto time = parse_number<std::int64_t>(one_line(quota));
  const auto per = parse_number<std::int64_t>(one_line(period));
  if (!time || !per || *time < 0 || *per <= 0) return std::nullopt;
  return *time / *per;
}

std::optional<CpuQuota> own_cpu_quota(const std::string& root) {
  const auto groups = parse_proc_cgroup(text_of(root + "/proc/self/cgroup"));
  std::optional<CpuQuota> least;
  look(root + "/sys/fs/cgroup", groups.unified, version_two, least);
  look(root + "/sys/fs/cgroup/cpu", groups.cpu, version_one, least);
  return least;
}

}  // namespace dllaunch
