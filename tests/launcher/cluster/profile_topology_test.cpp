#include "launcher/cluster/profile_topology.hpp"

#include <gmock/gmock.h>

#include "launcher/cluster/cluster_profile.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// `shape` is the inside of a node type.
ParsedProfile parsed(const std::string& shape) {
  return parse_cluster_profile("name: x\nnode_types:\n  n: {" + shape + "}\n", "x.yaml");
}

Topology shaped(const std::string& shape) {
  const auto made = parsed(shape);
  EXPECT_TRUE(made.profile) << render(made.problems, false);
  return made.profile ? made.profile->nodes.at(0).topology : Topology{};
}

std::string problem(const std::string& shape) {
  const auto made = parsed(shape);
  return made.problems.empty() ? "none" : made.problems.front().message;
}

TEST(ProfileTopology, CountsAsLinuxDoesOnX86) {
  const auto node = shaped("packages: 2, numa: 2, l3: 2, cores: 3, threads: 2, memory_gib: 64");
  EXPECT_EQ(node.packages, 2);
  ASSERT_EQ(node.numa.size(), 4u);
  EXPECT_EQ(to_list(node.numa[1].cpus), "6-11,30-35");
  EXPECT_EQ(node.numa[1].memory_bytes, std::uint64_t{16} << 30);
  EXPECT_EQ(to_list(node.cores[0].cpus), "0,24");
  EXPECT_EQ(node.source, "profile x, n node");
}

TEST(ProfileTopology, CountsAsLinuxDoesOnPower) {
  const auto node = shaped(
      "packages: 2, l3: 2, cores: 2, threads: 4, threads_of_a_core: together, numa_numbers: [0, "
      "8]");
  EXPECT_EQ(to_list(node.cores[1].cpus), "4-7");
  ASSERT_EQ(node.numa.size(), 2u);
  EXPECT_EQ(node.numa[1].index, 8);
  EXPECT_EQ(to_list(node.numa[1].cpus), "16-31");
  EXPECT_EQ(node.cores[4].package, 1);
  EXPECT_EQ(to_list(node.allowed_numa), "0,8");
}

TEST(ProfileTopology, DevicesAreNearWholeCores) {
  const auto node = shaped(
      "numa: 2, cores: 4, threads: 2, gpu_vendor: amd, gpu_name: G, "
      "gpus: [{pci: 'c1:00.0', near: 4-7}, {near: 1}], "
      "nics: [{name: b, near: 0-3}, {name: a, near: 4, fabric: false}]");
  ASSERT_EQ(node.gpus.size(), 2u);
  EXPECT_EQ(node.gpus[0].pci, "0000:c1:00.0");
  EXPECT_EQ(to_list(node.gpus[0].cpus), "4-7,12-15");
  EXPECT_EQ(to_list(node.gpus[0].numa), "1");
  EXPECT_EQ(node.gpus[0].vendor, "amd");
  EXPECT_EQ(node.gpus[1].index, 1);
  EXPECT_EQ(node.gpus[1].pci, "");
  EXPECT_EQ(to_list(node.gpus[1].cpus), "1,9");
  ASSERT_EQ(node.nics.size(), 2u);
  EXPECT_EQ(node.nics[0].name, "a");
  EXPECT_FALSE(node.nics[0].fabric);
  EXPECT_TRUE(node.nics[1].fabric);
}

TEST(ProfileTopology, WhatIsKeptInReserveIsNotForJobs) {
  const auto l3 = shaped("l3: 2, cores: 4, threads: 2, reserve: first-core-per-l3");
  EXPECT_EQ(to_list(l3.allowed_cpus), "1-3,5-7,9-11,13-15");
  EXPECT_EQ(to_list(l3.present_cpus), "0-15");
  EXPECT_EQ(l3.cores.size(), 6u);
  const auto list = shaped("cores: 4, threads: 2, reserve: 0");
  EXPECT_EQ(to_list(list.allowed_cpus), "1-3,5-7") << "a core's first thread stands for the core";
}

TEST(ProfileTopology, SaysWhatCannotBe) {
  EXPECT_EQ(problem("cores: 4, gpus: [{near: 0}, {near: 3-4}]"),
            "node_types.n.gpus[1].near: this node has no CPU 4; its CPUs are 0-3");
  EXPECT_THAT(problem("cores: 4, nics: [{name: a, near: 9}]"), HasSubstr("nics[0].near"));
  EXPECT_THAT(problem("cores: 4, reserve: 0-3"), HasSubstr("it leaves no CPU for jobs"));
  EXPECT_THAT(problem("cores: 4, reserve: 7"), HasSubstr("has no CPU 7"));
  EXPECT_THAT(problem("cores: 4, gpus: [{near: 3-1}]"), HasSubstr("gpus[0].near"));
  EXPECT_THAT(problem("packages: 2, cores: 4, numa_numbers: [0]"), HasSubstr("numa_numbers"));
  EXPECT_THAT(problem("packages: 2, cores: 4, numa_numbers: [3, 3]"), HasSubstr("numa_numbers"));
  EXPECT_THAT(problem("packages: 4096, numa: 4096, cores: 4096"), HasSubstr("more than"));
}

}  // namespace
}  // namespace dllaunch
