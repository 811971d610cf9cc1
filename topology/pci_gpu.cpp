#include "topology/pci_gpu.hpp"

#include <algorithm>
#include <array>

namespace dllaunch {

bool is_pci_gpu(int class_id, int vendor_id) {
  constexpr std::array classes{0x0300, 0x0302, 0x0380, 0x1200};
  if (std::find(classes.begin(), classes.end(), class_id) == classes.end()) return false;
  if (class_id == 0x1200) return true;
  // ASPEED, Matrox; Huawei's BMC; QEMU, virtio, QXL, Cirrus, VMware, Hyper-V.
  constexpr std::array screens{0x1a03, 0x102b, 0x19e5, 0x1234, 0x1af4,
                               0x1b36, 0x1013, 0x15ad, 0x1414};
  return std::find(screens.begin(), screens.end(), vendor_id) == screens.end();
}

std::string pci_gpu_vendor(int vendor_id) {
  if (vendor_id == 0x10de) return "nvidia";
  if (vendor_id == 0x1002) return "amd";
  if (vendor_id == 0x8086) return "intel";
  return "other";
}

}  // namespace dllaunch
