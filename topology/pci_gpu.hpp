// Which PCI devices are GPUs, and whose.
#pragma once

#include <string>

namespace dllaunch {

/// `class_id` is the base class and subclass, 0x0302. Display and processing devices, except those
/// that only drive a screen: board management controllers and the cards of virtual machines.
bool is_pci_gpu(int class_id, int vendor_id);

/// nvidia | amd | intel | other
std::string pci_gpu_vendor(int vendor_id);

}  // namespace dllaunch
