// hwloc's topology with an owner. Internal to discovery.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <hwloc.h>

#include "support/result.hpp"

namespace dllaunch {

struct DestroyHwlocTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyHwlocTopology>;

inline Error hwloc_unavailable(std::string what) {
  return {ErrorKind::unavailable, std::move(what), "check whether lstopo works here"};
}

}  // namespace dllaunch
