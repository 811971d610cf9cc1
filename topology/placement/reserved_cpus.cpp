#include "topology/placement/reserved_cpus.hpp"

#include <utility>

#include <fmt/core.h>

namespace dllaunch {

Result<IdSet> reserved_cpus(const Topology& topology, const std::string& reserve) {
  if (reserve == "auto" || reserve == "none" || reserve.empty()) return IdSet{};
  if (reserve == "first-core-per-l3") {
    IdSet reserved;
    for (const auto& core : topology.cores)
      if (core.opens_l3) reserved |= core.cpus;
    return reserved;
  }
  auto list = parse_id_list(reserve);
  if (!list) {
    auto error = std::move(list).error();
    error.hint = "reserve is auto, none, first-core-per-l3 or a CPU list such as 0-3,8";
    return std::move(error).within("reserve");
  }
  const auto missing = *list - (topology.present_cpus | topology.cpus());
  if (!missing.empty())
    return Error{ErrorKind::bad_request,
                 fmt::format("reserve: this node has no CPU {}", to_list(missing)),
                 fmt::format("its CPUs are {}", to_list(topology.present_cpus))};
  // Reserving CPU 0 means its whole core: the sibling thread would disturb it as much.
  for (const auto& core : topology.cores)
    if (list->contains(core.cpus.first())) *list |= core.cpus;
  return list;
}

}  // namespace dllaunch
