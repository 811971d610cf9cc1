// GPUs as the kernel lists them, for machines whose hwloc shows no devices.
#pragma once

#include <string>
#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// From ROOT/bus/pci/devices (ROOT is "/sys", or a recorded tree), numbered in PCI order. Empty
/// where there is no such folder. `node` says which CPUs and packages there are.
std::vector<Gpu> read_sysfs_gpus(const std::string& root, const Topology& node);

}  // namespace dllaunch
