#include "support/network_disk.hpp"

#include <linux/magic.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>

namespace dllaunch {

bool lies_on_network(const std::string& path) {
  constexpr std::array<unsigned long, 11> network = {
      NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
      CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC, FUSE_SUPER_MAGIC,
      0x0BD00BD0,   // Lustre
      0x47504653,   // GPFS
      0x19830326,   // BeeGFS
      0xAAD7AAEA};  // PanFS
  struct statfs info {};
  if (statfs(path.c_str(), &info) != 0) return true;
  return std::ranges::find(network, static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL) !=
         network.end();
}

}  // namespace dllaunch
