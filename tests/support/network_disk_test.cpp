#include "support/network_disk.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dllaunch {
namespace {

TEST(NetworkDisk, KernelFileSystemsAreLocal) {
  EXPECT_FALSE(lies_on_network("/proc"));
  EXPECT_FALSE(lies_on_network("/dev"));
}

TEST(NetworkDisk, MissingPathsAreNotLocal) {
  EXPECT_TRUE(lies_on_network("/no/such/folder"));
}

TEST(NetworkDisk, MountOptionsTellWhoSeesLocks) {
  const std::string mountinfo =
      "30 1 0:40 / /a\\040,local_lock=all rw - nfs4 s:/a rw,vers=4.2,local_lock=none,addr=::1\n"
      "31 1 0:41 / /b rw,relatime shared:7 - nfs s:/b rw,vers=3,nolock,local_lock=all,addr=::1\n"
      "32 1 0:42 / /c rw - lustre s:/c rw,localflock\n"
      "33 1 8:41 / /d rw - ext4 /dev/sda1 rw\n"
      "34 1 0:43 / /e rw - cifs //s/e rw,vers=3.1.1,nobrl,addr=10.0.0.1\n"
      "35 1 0:44 / /f rw - cifs //s/f rw,vers=3.1.1,addr=10.0.0.1\n"
      "36 1 0:45 / /g rw - beegfs beegfs_nodev rw,cfgFile=/etc/beegfs/beegfs-client.conf\n";
  EXPECT_FALSE(keeps_locks_to_itself(mountinfo, 0, 40));
  EXPECT_TRUE(keeps_locks_to_itself(mountinfo, 0, 41));
  EXPECT_TRUE(keeps_locks_to_itself(mountinfo, 0, 42));
  EXPECT_FALSE(keeps_locks_to_itself(mountinfo, 8, 41));
  EXPECT_TRUE(keeps_locks_to_itself(mountinfo, 0, 43));
  EXPECT_FALSE(keeps_locks_to_itself(mountinfo, 0, 44));
  EXPECT_TRUE(keeps_locks_to_itself(mountinfo, 0, 45));
  EXPECT_FALSE(keeps_locks_to_itself(mountinfo, 0, 4)) << "is not there";
  EXPECT_FALSE(keeps_locks_to_itself("31 1 0:41 / /b", 0, 41)) << "cut";
  EXPECT_FALSE(keeps_locks_to_itself(-1)) << "no file";
}

}  // namespace
}  // namespace dllaunch
