#include "launcher/os/descent_mark.hpp"

#include <sys/resource.h>

#include "launcher/os/descendants.hpp"

namespace dllaunch {

bool mark_descent(std::uint64_t mark) {
  rlimit limit{};
  if (getrlimit(RLIMIT_LOCKS, &limit) != 0) return false;
  limit.rlim_cur = mark;
  return setrlimit(RLIMIT_LOCKS, &limit) == 0;
}

std::uint64_t descent_mark_of(pid_t pid) {
  rlimit limit{};
  const bool known = prlimit(pid, RLIMIT_LOCKS, nullptr, &limit) == 0;
  return known && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

std::vector<pid_t> marked_processes(std::uint64_t first, std::uint64_t last) {
  auto pids = pids_here();
  std::erase_if(pids, [&](pid_t pid) {
    const auto mark = descent_mark_of(pid);
    return mark < first || mark > last || is_zombie(pid);
  });
  return pids;
}

}  // namespace dllaunch
