#include "support/network/interfaces.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

std::string first_meant(const std::string& wanted) {
  const auto meant = interfaces_meant(wanted, cards);
  return meant.empty() ? "none" : meant.front().name + " " + meant.front().address;
}

TEST(InterfacesMeant, FollowNccl) {
  EXPECT_EQ(first_meant("hsn"), "hsn0 10.1.0.1");
  EXPECT_EQ(first_meant("=hsn0"), "hsn0 10.1.0.1");
  EXPECT_EQ(first_meant("ib,hsn"), "hsn0 10.1.0.1");
  EXPECT_EQ(first_meant("ib"), "ib0 fd00::3");
  EXPECT_EQ(first_meant("^eth"), "hsn0 10.1.0.1");
  EXPECT_EQ(first_meant("lo"), "lo 127.0.0.1");
  EXPECT_EQ(first_meant("hsn1"), "none") << "it is down";
  EXPECT_EQ(first_meant("=hsn"), "none");
}

TEST(InterfacesHere, HaveTheLoopback) {
  const auto found = interfaces_here();
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const NetworkInterface& card) {
    return card.loopback && card.up && card.address == "127.0.0.1";
  }));
}

}  // namespace
}  // namespace dllaunch
