#include "runtime/communicators/tcp/preferred_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PreferredAddress, ACardIsAnInterfaceOrHasSome) {
  const TemporaryFolder sys;
  for (const char* folder : {"class/net/hsn0", "class/net/ib0", "class/net/ib1",
                             "class/infiniband/mlx5_0/device/net/ib1",
                             "class/infiniband/mlx5_0/device/net/ib0", "class/infiniband/efa0",
                             "class/infiniband/mlx5_bond_0/device/net/eth2", "class/net/eth2"}) {
    std::filesystem::create_directories(sys.path() + "/" + folder);
  }
  std::filesystem::create_symlink("../bond0", sys.path() + "/class/net/eth2/master");
  EXPECT_THAT(interfaces_of_card("hsn0", sys.path()), ElementsAre("hsn0"));
  EXPECT_THAT(interfaces_of_card("mlx5_0", sys.path()), ElementsAre("ib0", "ib1"));
  EXPECT_THAT(interfaces_of_card("mlx5_bond_0", sys.path()), ElementsAre("eth2", "bond0"));
  for (const char* card : {"", "efa0", "mlx5_1", "../net", "."}) {
    EXPECT_THAT(interfaces_of_card(card, sys.path()), IsEmpty()) << card;
  }
}

const std::vector<NetworkInterface> here = {
    {.name = "lo", .address = "127.0.0.1", .loopback = true},
    {.name = "eth0", .address = "10.0.0.1"},
    {.name = "hsn0", .address = "fd00::2"},
    {.name = "hsn0", .address = "10.1.0.1"},
    {.name = "hsn1", .address = "10.2.0.1"},
    {.name = "hsn2", .address = "10.3.0.1", .up = false}};

TEST(PreferredAddress, IsThatOfTheCard) {
  EXPECT_EQ(choose_preferred({"hsn1"}, "", here), "10.2.0.1");
  EXPECT_EQ(choose_preferred({"hsn0"}, "", here), "10.1.0.1") << "IPv4 first";
  EXPECT_EQ(choose_preferred({"hsn2", "hsn1"}, "", here), "10.2.0.1") << "hsn2 is down";
  EXPECT_EQ(choose_preferred({"hsn2"}, "", here), "");
  EXPECT_EQ(choose_preferred({}, "", here), "");
}

TEST(PreferredAddress, IsOneThatTheUserAllows) {
  EXPECT_EQ(choose_preferred({"hsn1"}, "hsn", here), "10.2.0.1");
  EXPECT_EQ(choose_preferred({"hsn1"}, "=hsn0,eth0", here), "10.0.0.1");
  EXPECT_EQ(choose_preferred({"hsn1"}, "^hsn", here), "");
  EXPECT_EQ(choose_preferred({}, "hsn1", here), "10.2.0.1");
  EXPECT_EQ(choose_preferred({"hsn1"}, "ib", here), "") << "nothing that is wanted is here";
  EXPECT_EQ(choose_preferred({}, "^lo", here), "") << "what is left is no preference";
  EXPECT_EQ(choose_preferred({}, "lo", here), "") << "other nodes have one of their own";
}

}  // namespace
}  // namespace dllaunch
