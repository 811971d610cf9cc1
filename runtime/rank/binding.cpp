#include "runtime/rank/binding.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

namespace dllaunch {
namespace {

/// A kernel CPU mask of any length; glibc's cpu_set_t ends at 1024 CPUs.
using Mask = std::vector<std::uint64_t>;
constexpr int bits = 64;

cpu_set_t* kernel_view(Mask& mask) {
  return reinterpret_cast<cpu_set_t*>(mask.data());
}
std::size_t bytes(const Mask& mask) {
  return mask.size() * sizeof(std::uint64_t);
}

Mask to_kernel(const IdSet& cpus) {
  Mask mask(static_cast<std::size_t>(cpus.last() / bits + 1));
  for (const int cpu : cpus.ids()) {
    mask[static_cast<std::size_t>(cpu / bits)] |= std::uint64_t{1} << (cpu % bits);
  }
  return mask;
}

IdSet from_kernel(const Mask& mask) {
  IdSet cpus;
  for (int cpu = 0; cpu < static_cast<int>(mask.size()) * bits; ++cpu) {
    if ((mask[static_cast<std::size_t>(cpu / bits)] >> (cpu % bits) & 1) != 0) cpus.insert(cpu);
  }
  return cpus;
}

Result<Ok> set_affinity(const IdSet& cpus) {
  Mask mask = to_kernel(cpus);
  if (::sched_setaffinity(0, bytes(mask), kernel_view(mask)) == 0) return Ok{};
  return Error{ErrorKind::unsatisfiable, std::strerror(errno), ""};
}

Error refused(const IdSet& wanted, std::string_view allowed, std::string_view why) {
  return {ErrorKind::unsatisfiable,
          fmt::format("cannot bind to CPUs {}: {} CPUs {}", to_list(wanted), why, allowed),
          "compare with Cpus_allowed_list and the cgroup's cpuset"};
}

}  // namespace

Result<IdSet> current_binding() {
  // The kernel silently drops CPUs outside the cgroup, so check the result.
  for (Mask mask(16); mask.size() * bits <= IdSet::max_id + 1; mask.resize(mask.size() * 2)) {
    if (::sched_getaffinity(0, bytes(mask), kernel_view(mask)) == 0) return from_kernel(mask);
    if (errno != EINVAL) break;
  }
  return Error{ErrorKind::unavailable, fmt::format("sched_getaffinity: {}", std::strerror(errno)),
               ""};
}

Result<IdSet> binding_of(int pid) {
  constexpr std::string_view key = "Cpus_allowed_list:";
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    const auto first = line.find_first_not_of(" \t", key.size());
    return parse_id_list(first == std::string::npos ? "" : std::string_view(line).substr(first));
  }
  return Error{ErrorKind::unavailable, fmt::format("no process {}", pid), ""};
}

Result<Ok> apply_binding(const IdSet& cpus) {
  if (cpus.empty()) return Error{ErrorKind::bad_request, "cannot bind to no CPUs", ""};
  auto before = current_binding();
  if (!before) return std::move(before).error();

  // The kernel quietly takes the part of a mask that the cgroup allows, so look at what it did.
  auto set = set_affinity(cpus);
  auto after = current_binding();
  if (!after) return std::move(after).error();
  if (set && *after == cpus) return Ok{};

  const std::string got = to_list(*after);
  if (!set) return refused(cpus, got, set.error().what + ", the process stays on");
  (void)set_affinity(*before);
  return refused(cpus, got, "the kernel allows only");
}

}  // namespace dllaunch
