#include "launcher/components/component_variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

RunOutline two() {
  RunOutline whole;
  whole.components = {{.name = "data-loader", .ranks_per_node = 2},
                      {.name = "trainer", .nodes = 2, .ranks_per_node = 4, .host_suffix = "-ib"}};
  return whole;
}

using Map = std::map<std::string, std::string>;

Map in_job(FakeSystem& system, const std::string& own) {
  const auto places = places_in_job(system, two());
  if (!places) return {{"error", places.error().what}};
  const auto all = component_variables(*places, own);
  return Map(all.begin(), all.end());
}

TEST(ComponentVariables, NameTheHostsOfAll) {
  FakeSystem system;
  system.variables = {{"SLURM_JOB_ID", "12"},
                      {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                      {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[3-4]"}};
  const auto set = in_job(system, "trainer");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENT"), "trainer");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENTS"), "data-loader,trainer");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENT_DATA_LOADER_HOSTS"), "n1");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENT_DATA_LOADER_RANKS"), "2");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENT_TRAINER_HOSTS"), "n3-ib,n4-ib");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENT_TRAINER_NODES"), "2");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENT_TRAINER_RANKS"), "8");
  EXPECT_EQ(set.at("DLLAUNCH_COMPONENT_TRAINER_ADDRESS"), "n3-ib");
  EXPECT_EQ(in_job(system, "trainer"), set) << "the same for all";
}

// An edited script, or one submitted without its second half.
TEST(ComponentVariables, AJobOfAnotherShapeIsRefused) {
  FakeSystem system;
  system.variables = {{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"}};
  EXPECT_THAT(in_job(system, "trainer").at("error"),
              testing::HasSubstr("does not name the nodes of component trainer"));
}

TEST(ComponentVariables, PortsAreApartAndBelowTheEphemeralOnes) {
  std::set<int> bases;
  for (int start = 0; start < 500; ++start) {
    const auto ports = component_ports(std::to_string(start), 128);
    for (std::size_t i = 0; i + 1 < ports.size(); ++i) EXPECT_EQ(ports[i + 1] - ports[i], 64);
    EXPECT_GE(ports.front(), 16384);
    EXPECT_LT(ports.back() + 64, 32768);
    bases.insert(ports.front());
  }
  EXPECT_GT(bases.size(), 400u) << "jobs differ";
  const auto here = places_here(two(), "x");
  EXPECT_EQ(here[1].hosts, std::vector<std::string>{"127.0.0.1"});
}

}  // namespace
}  // namespace dllaunch
