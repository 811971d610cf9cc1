// Tells which PCI devices are GPUs, and their vendor.
#pragma once

#include <string>

namespace dllaunch {

struct PciIds {
  int class_id = 0;  // base class and subclass, 0x0302
  int vendor_id = 0;
  int device_id = 0;
};

/// True for display and processing devices, except those that only drive a screen: board management
/// controllers, virtual machines' cards, and AMD's from before its chips could compute (servers of
/// 2004 to 2012 have an ES1000 or Rage XL on the mainboard).
bool is_pci_gpu(const PciIds& device);

/// nvidia | amd | intel | other
std::string pci_gpu_vendor(int vendor_id);

}  // namespace dllaunch
