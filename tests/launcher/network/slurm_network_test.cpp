#include "launcher/network/slurm_network.hpp"

#include <gtest/gtest.h>

#include "tests/launcher/network/drawn_network.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

TEST(SlurmNetwork, AsksScontrol) {
  FakeSystem system;
  EXPECT_EQ(slurm_network(system), Network()) << "no Slurm here";
  EXPECT_TRUE(system.ran.empty());
  system.programs.insert("scontrol");
  EXPECT_EQ(slurm_network(system), Network()) << "it does not answer";
  system.answers["scontrol show topology"] = {0, "", "No topology information available\n"};
  EXPECT_EQ(slurm_network(system), Network());
  system.answers["scontrol show topology"] = {0, "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-4]\n",
                                              ""};
  const auto network = slurm_network(system, "24.11.5");
  EXPECT_EQ(drawn(network), "tree: s0=n[1-4]");
  EXPECT_EQ(network.source, "the topology of Slurm 24.11.5");
  EXPECT_EQ(slurm_network(system).source, "the topology of Slurm");
}

}  // namespace
}  // namespace dllaunch
