#include "launcher/slurm/partition.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Partition, AdmissionIsByNameAndExclusion) {
  EXPECT_TRUE(AccessList{}.admits("any"));
  const AccessList some{.allowed = {"a", "b"}, .denied = {"b"}};
  EXPECT_TRUE(some.admits("a"));
  EXPECT_TRUE(some.admits("A")) << "Slurm ignores case";
  EXPECT_FALSE(some.admits("b"));
  EXPECT_FALSE(some.admits("c"));
}

TEST(Partition, TheShapeOfANodeIsNeitherItsNameNorItsFeatures) {
  const NodeType node{.hosts = {"n1"}, .cpus = 8, .features = {"ib"}};
  EXPECT_TRUE(same_hardware(node, {.hosts = {"n2"}, .cpus = 8}));
  EXPECT_FALSE(same_hardware(node, {.hosts = {"n1"}, .cpus = 16, .features = {"ib"}}));
  EXPECT_FALSE(same_hardware(node, {.cpus = 8, .gpu_gres = {{"a100", 4}}}));
}

}  // namespace
}  // namespace dllaunch
