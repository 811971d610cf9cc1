#include "launcher/rank/rendezvous/reachable_address.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

const std::vector<NetworkInterface> cards = {
    {.name = "lo", .address = "127.0.0.1", .loopback = true},
    {.name = "docker0", .address = "172.17.0.1"},
    {.name = "eth1", .address = "192.168.0.9", .up = false},
    {.name = "eth0", .address = "10.1.0.7"},
    {.name = "hsn0", .address = "10.9.0.7"}};

TEST(ReachableAddress, TheNameThatSlurmUsesWhereItLeadsHere) {
  EXPECT_EQ(choose_address({{"n7", {"10.1.0.7"}}, {"n7.site", {"10.9.0.7"}}}, "", cards), "n7");
}

// Debian's installer writes such a line into /etc/hosts.
TEST(ReachableAddress, ANameOfTheLoopbackIsPassedOver) {
  EXPECT_EQ(choose_address({{"n7", {"127.0.1.1"}}, {"n7-hsn", {"10.9.0.7"}}}, "", cards), "n7-hsn");
  EXPECT_EQ(choose_address({{"n7", {"127.0.1.1"}}}, "10.9.0.7", cards), "10.9.0.7")
      << "what the kernel would send from";
  EXPECT_EQ(choose_address({{"n7", {"127.0.0.1"}}}, "", cards), "10.1.0.7")
      << "neither loopback, nor a container's bridge, nor a card that is down";
}

TEST(ReachableAddress, AnAddressThatNoCardHasIsNotHere) {
  EXPECT_EQ(choose_address({{"cloud-7", {"34.0.0.1"}}, {"ip-10-1-0-7", {"10.1.0.7"}}}, "", cards),
            "ip-10-1-0-7");
}

TEST(ReachableAddress, WithoutAnyCardTheNameHasToDo) {
  EXPECT_EQ(choose_address({{"n7", {}}}, "", {cards[0]}), "n7");
  EXPECT_EQ(choose_address({}, "", {}), "localhost");
}

TEST(ReachableAddress, OfThisMachineIsNeverEmpty) {
  EXPECT_FALSE(reachable_address({"localhost"}, "").empty());
  EXPECT_FALSE(reachable_address({"no-such-name.invalid"}, "no-such-peer.invalid").empty());
}

}  // namespace
}  // namespace dllaunch
