// hwloc's topology with an owner. Internal to discovery.
#pragma once

#include <cstdlib>
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

/// What hwloc reads in this variable until this ends, unless the user has set it.
class HwlocSetting {
 public:
  HwlocSetting(const char* variable, const char* value) : variable_(variable) {
    set_ = std::getenv(variable) == nullptr;
    if (set_) setenv(variable, value, 1);
  }
  HwlocSetting(const HwlocSetting&) = delete;
  HwlocSetting& operator=(const HwlocSetting&) = delete;
  ~HwlocSetting() {
    if (set_) unsetenv(variable_);
  }

 private:
  const char* variable_;
  bool set_ = false;
};

}  // namespace dllaunch
