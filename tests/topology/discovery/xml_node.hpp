// Small hwloc XML written for tests.
#pragma once

#include <string>

namespace dllaunch {

/// One package, NUMA node and L3 of two cores with two CPUs each (0 and 2, 1 and 3); `devices` are
/// attached to a host bridge of the package. `machine` replaces the machine's allowed_cpuset="0xf".
std::string xml_node(const std::string& devices, const std::string& machine = "",
                     const std::string& version = "2.0");

/// `type` is "CLASS [VENDOR:DEVICE]"; `inside` are its osdevs.
std::string pci_device(int bus, const std::string& type, const std::string& inside = "",
                       int domain = 0);

/// `type` is hwloc's number: 1 GPU, 2 network, 3 OpenFabrics, 5 co-processor.
std::string osdev(const std::string& name, int type, const std::string& inside = "");

constexpr int gpu_type = 1;
constexpr int net_type = 2;
constexpr int openfabrics_type = 3;
constexpr int coproc_type = 5;

}  // namespace dllaunch
