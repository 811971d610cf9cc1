#include "support/network_disk.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(NetworkDisk, KernelFileSystemsAreLocal) {
  EXPECT_FALSE(lies_on_network("/proc"));
  EXPECT_FALSE(lies_on_network("/dev"));
}

TEST(NetworkDisk, MissingPathsAreNotLocal) {
  EXPECT_TRUE(lies_on_network("/no/such/folder"));
}

}  // namespace
}  // namespace dllaunch
