#include "topology/node/pci_gpu.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dllaunch {

namespace {

// Device ids from the PCI ID database: Mach64, Rage and R100 to R500 with their chipsets. R600,
// 0x9400, is the first that can compute; it and all later ones lie outside these ranges.
bool is_amd_screen(int device_id) {
  constexpr std::array<std::pair<int, int>, 3> ranges{
      {{0x3100, 0x5fff}, {0x7100, 0x72ff}, {0x7800, 0x79ff}}};
  return std::ranges::any_of(ranges, [&](const auto& range) {
    return device_id >= range.first && device_id <= range.second;
  });
}

}  // namespace

bool is_pci_gpu(const PciIds& device) {
  constexpr std::array classes{0x0300, 0x0302, 0x0380, 0x1200};
  if (std::ranges::find(classes, device.class_id) == classes.end()) return false;
  if (device.class_id == 0x1200) return true;
  // ASPEED, Matrox, Silicon Motion, XGI, S3; Huawei's BMC; QEMU, virtio, QXL, Cirrus, VMware,
  // Hyper-V, VirtualBox.
  constexpr std::array screens{0x1a03, 0x102b, 0x126f, 0x18ca, 0x5333, 0x19e5, 0x1234,
                               0x1af4, 0x1b36, 0x1013, 0x15ad, 0x1414, 0x80ee};
  if (std::ranges::find(screens, device.vendor_id) != screens.end()) return false;
  return device.vendor_id != 0x1002 || !is_amd_screen(device.device_id);
}

std::string pci_gpu_vendor(int vendor_id) {
  if (vendor_id == 0x10de) return "nvidia";
  if (vendor_id == 0x1002) return "amd";
  if (vendor_id == 0x8086) return "intel";
  return "other";
}

}  // namespace dllaunch
