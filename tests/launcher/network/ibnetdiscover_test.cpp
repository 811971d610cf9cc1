#include "launcher/network/ibnetdiscover.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/network/drawn_network.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

std::string switch_block(const std::string& name, const Names& links) {
  auto text = "vendid=0x2c9\nswitchguid=0x1(1)\nSwitch\t65 \"S-" + name + "\"\t\t# \"MF0;" + name +
              ":MQM9701/U1\" enhanced port 0 lid 73 lmc 0\n";
  int port = 1;
  for (const auto& link : links) {
    const auto at = link.find(' ');
    text += "[" + std::to_string(port++) + "]\t\"" +
            (at == link.npos ? "S-" + link : "H-" + link.substr(0, at) + link.substr(at + 1)) +
            "\"[1]\t\t# \"" + (at == link.npos ? "MF0;" + link + ":x" : link) + "\" lid 1 4xNDR\n";
  }
  return text + "\n";
}

TEST(Ibnetdiscover, GroupsHostsByTheirRails) {
  const auto fabric = read_ibnetdiscover(
      switch_block("L1", {"a1 mlx5_0", "a2 mlx5_0", "SP1"}) +
          switch_block("L2", {"a1 mlx5_1", "a2 mlx5_1", "SP1"}) +
          switch_block("L3", {"b1 HCA-1", "b2.cluster HCA-1", "SP1"}) +
          switch_block("L4", {"b1 HCA-2", "SP1"}) + switch_block("SP1", {"L1", "L2", "L3", "L4"}),
      "a capture");
  EXPECT_TRUE(is_sound(fabric));
  EXPECT_EQ(drawn(fabric), "fabric: SP1(L[1-2]=a[1-2] L[3-4]=b[1-2])")
      << "b2, whose second cable is missing, with b1";
}

TEST(Ibnetdiscover, FindsPods) {
  std::string text;
  for (const std::string pod : {"1", "2"}) {
    for (const std::string leaf : {"1", "2"})
      text += switch_block("L" + pod + leaf, {"n" + pod + leaf + " mlx5_0", "P" + pod});
    text += switch_block("P" + pod, {"C1", "C2"});
  }
  for (const std::string core : {"C1", "C2"}) text += switch_block(core, {"P1", "P2"});
  const auto whole = read_ibnetdiscover(text, "");
  EXPECT_EQ(drawn(whole), "fabric: C[1-2](P1(L11=n11 L12=n12) P2(L21=n21 L22=n22))");
}

TEST(Ibnetdiscover, ReadsAdaptersAlone) {
  const auto fabric = read_ibnetdiscover(
      "Ca\t1 \"H-1\"\t\t# \"n1 mlx5_0\"\n[1](1) \t\"S-9\"[17]\t\t# lid 6 lmc 0 \"leaf\" lid 73 "
      "4xNDR\n\n"
      "Ca\t1 \"H-2\"\t\t# \"Mellanox Technologies Aggregation Node\"\n[1](2) \t\"S-9\"[65]\t\t# "
      "lid 1\n\n"
      "Ca\t1 \"H-3\"\t\t# \"MT4129 ConnectX7   Mellanox Technologies\"\n[1](3) \t\"S-9\"[5]\n",
      "");
  EXPECT_EQ(drawn(fabric), "fabric: S-9=n1");
  EXPECT_EQ(fabric.warnings,
            Names{"adapters that name no host: MT4129 ConnectX7   Mellanox Technologies"});
}

TEST(Ibnetdiscover, IsNotConfusedByHalves) {
  for (const std::string text :
       {"Switch", "Switch\t65 \"S-", "Ca\t1 \"H-1\" # \"n1 mlx5_0\"\n[1", "[1] \"S-1\"[2]",
        "Switch 1 \"S-1\"\n[1] \"S-1\"[1]\n[2] \"H-1\"[1] # \"n1 mlx5_0"}) {
    EXPECT_TRUE(is_sound(read_ibnetdiscover(text, ""))) << text;
  }
}

}  // namespace
}  // namespace dllaunch
