#include "launcher/preflight/interface_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

const std::vector<NetworkInterface> cards = {
    {.name = "lo", .address = "127.0.0.1", .loopback = true},
    {.name = "eth0", .address = "fe80::1"},
    {.name = "eth0", .address = "10.0.0.1"},
    {.name = "hsn0", .address = "fd00::2"},
    {.name = "hsn0", .address = "10.1.0.1"},
    {.name = "hsn1", .address = "10.2.0.1", .up = false},
    {.name = "ib0", .address = "fd00::3"}};

std::string chosen(const std::string& wanted) {
  const auto card = choose_interface(wanted, cards);
  return card ? card->name + " " + card->address : card.error().what;
}

TEST(InterfaceChoice, FollowsNccl) {
  EXPECT_EQ(chosen("hsn"), "hsn0 10.1.0.1");
  EXPECT_EQ(chosen("=hsn0"), "hsn0 10.1.0.1");
  EXPECT_EQ(chosen("ib,hsn"), "hsn0 10.1.0.1");
  EXPECT_EQ(chosen("ib"), "ib0 fd00::3");
  EXPECT_EQ(chosen("^eth"), "hsn0 10.1.0.1");
  EXPECT_EQ(chosen("lo"), "lo 127.0.0.1");
}

TEST(InterfaceChoice, SaysWhatThereIs) {
  EXPECT_EQ(chosen("hsn1"),
            "NCCL_SOCKET_IFNAME=hsn1 matches no interface that is up; there are: eth0, hsn0, "
            "hsn0, ib0");
  EXPECT_EQ(chosen("=hsn"),
            "NCCL_SOCKET_IFNAME==hsn matches no interface that is up; there are: eth0, hsn0, "
            "hsn0, ib0");
}

}  // namespace
}  // namespace dllaunch
