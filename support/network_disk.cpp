#include "support/network_disk.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>

#include "support/file_text.hpp"

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

bool keeps_locks_to_itself(int file) {
  struct stat info {};
  if (fstat(file, &info) != 0) return false;
  const auto mounts = read_file_text("/proc/self/mountinfo");
  return mounts && keeps_locks_to_itself(*mounts, major(info.st_dev), minor(info.st_dev));
}

bool keeps_locks_to_itself(std::string_view mountinfo, unsigned major, unsigned minor) {
  const auto device = " " + std::to_string(major) + ":" + std::to_string(minor) + " ";
  // BeeGFS does not tell in its options; its tuneUseGlobalFileLocks is off by default.
  constexpr std::array<std::string_view, 5> options = {",local_lock=all", ",local_lock=posix",
                                                       ",localflock", ",nobrl", " - beegfs "};
  while (!mountinfo.empty()) {
    const auto line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    const auto mounted = line.find(" - ");  // then type, source, and the options of all its mounts
    if (line.substr(0, mounted).find(device) == std::string_view::npos) continue;
    const auto of_all = line.substr(std::min(mounted, line.size()));
    return std::ranges::any_of(
        options, [&](auto option) { return of_all.find(option) != std::string_view::npos; });
  }
  return false;
}

}  // namespace dllaunch
