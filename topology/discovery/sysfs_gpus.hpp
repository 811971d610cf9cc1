// GPUs as the kernel lists them, for machines where hwloc shows no devices.
#pragma once

#include <string>
#include <vector>

#include "topology/node/topology.hpp"

namespace dllaunch {

/// Returns the GPUs of ROOT/bus/pci/devices, numbered in PCI order. ROOT is "/sys" or a recorded
/// tree. Empty if the folder is missing. `node` provides CPUs and packages.
std::vector<Gpu> read_sysfs_gpus(const std::string& root, const Topology& node);

}  // namespace dllaunch
