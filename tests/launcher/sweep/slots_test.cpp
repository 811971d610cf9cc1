#include "launcher/sweep/slots.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/topology/node/machines.hpp"
#include "topology/diagnosis/visible_gpus.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/node/synthetic.hpp"
#include "topology/render/placement_env.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string problem(const Topology& node, const PlacementRequest& trial, int many) {
  const auto slots = slots_on(node, trial, many);
  return slots ? "none" : slots.error().what + " (" + slots.error().hint + ")";
}

TEST(Slots, WithoutGpusAreEqualPartsOfTheCores) {
  const auto node = machine("packages:2 cores:4 threads:2");
  const auto slots = slots_on(node, {.ranks = 2, .gpus = 0}, 4);
  ASSERT_TRUE(slots) << slots.error().what;
  IdSet all;
  for (const Slot& slot : *slots) {
    EXPECT_EQ(slot.cpus.size(), 4) << "both threads of two cores";
    EXPECT_FALSE(all.intersects(slot.cpus));
    EXPECT_TRUE(slot.gpus.empty());
    all |= slot.cpus;
  }
  EXPECT_EQ(slots_that_fit(node, {.ranks = 2, .gpus = 0}), 1);
  EXPECT_THAT(problem(node, {.ranks = 1, .gpus = 0}, 9), HasSubstr("this machine has 8 cores"));
}

TEST(Slots, GiveATrialGpusAndTheCoresNearThem) {
  const auto node = fixture("leonardo-booster.json");
  const PlacementRequest trial{.ranks = 2, .gpus = 2};
  ASSERT_EQ(node.gpus.size(), 4U);
  EXPECT_EQ(slots_that_fit(node, trial), 2);
  const auto slots = slots_on(node, trial, 2);
  ASSERT_TRUE(slots) << slots.error().what;
  EXPECT_THAT((*slots)[0].gpus, ElementsAre(0, 1));
  EXPECT_THAT((*slots)[1].gpus, ElementsAre(2, 3));
  EXPECT_THAT(problem(node, trial, 3),
              HasSubstr("sweep.concurrent is 3, and this machine has 4 GPUs, 2 for each trial "
                        "(concurrent: 2)"));
}

TEST(Slots, NeedACoreForEachRank) {
  const auto node = fixture("leonardo-booster.json");
  EXPECT_EQ(slots_that_fit(node, {.ranks = 1, .gpus = 1}), 4);
  EXPECT_EQ(slots_that_fit(node, {.ranks = 1, .gpus = 1, .cores_per_rank = 16}), 2);
  EXPECT_EQ(slots_that_fit(node, {.ranks = 1, .gpus = 3}), 1);
}

/// Each trial's own planning finds what the slot holds, by the variables that it is started with.
void expect_good_slots(const Topology& node, const std::string& name) {
  for (const int gpus : {1, 2, 4}) {
    const PlacementRequest trial{.ranks = gpus, .gpus = gpus};
    const int many = slots_that_fit(node, trial);
    if (many < 2) continue;
    const auto slots = slots_on(node, trial, many);
    ASSERT_TRUE(slots) << name << ": " << slots.error().what;
    std::set<int> taken;
    for (const Slot& slot : *slots) {
      ASSERT_EQ(std::ssize(slot.gpus), gpus) << name;
      EXPECT_TRUE(node.allowed_cpus.contains(slot.cpus)) << name;
      IdSet near;
      bool known = true;
      for (const int gpu : slot.gpus) {
        EXPECT_TRUE(taken.insert(gpu).second) << name << ": GPU " << gpu << " twice";
        const auto& cpus = node.gpus[static_cast<std::size_t>(gpu)].cpus;
        known = known && cpus.intersects(node.allowed_cpus);
        near |= cpus;
      }
      if (known) {
        EXPECT_TRUE(near.contains(slot.cpus)) << name << ": far cores";
      }
      RankObservation trial_sees;
      for (const auto& [variable, value] : device_variables(node, {.gpus = slot.gpus}))
        trial_sees.environment[variable] = value;
      auto seen = visible_gpus(node, trial_sees).gpus;
      std::ranges::sort(seen);
      EXPECT_EQ(seen, slot.gpus) << name << ", " << trial_sees.environment.size();
    }
  }
}

TEST(Slots, AreApartAndNearTheirGpusOnEveryMachine) {
  for (const auto& name : fixture_names()) {
    auto node = fixture(name);
    // A plan has the GPUs of one vendor.
    std::erase_if(node.gpus, [&](const Gpu& gpu) { return gpu.vendor != node.gpus[0].vendor; });
    expect_good_slots(node, name);
  }
  for (const auto& path : captured_files()) {
    auto node = load_topology(path);
    ASSERT_TRUE(node) << path;
    expect_good_slots(*node, path);
  }
}

TEST(Slots, AtMostOneForEachCoreAndEachTrialsGpus) {
  const auto node = *synthetic_topology("cores:4");
  EXPECT_EQ(most_slots(node, {.ranks = 2, .gpus = 0}), 4);
  EXPECT_EQ(most_slots(node, {.ranks = 1, .gpus = 1}), 0);
}

TEST(Slots, OfAnAllocationSpreadOverItsNodes) {
  const std::vector<std::string> hosts = {"n1", "n2", "n3"};
  const auto nodes_of = [](const Result<std::vector<Slot>>& slots) {
    std::vector<std::string> nodes;
    if (slots)
      for (const Slot& slot : *slots) nodes.push_back(slot.nodes);
    return nodes;
  };
  EXPECT_THAT(nodes_of(slots_in(hosts, 1, {}, {})), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(nodes_of(slots_in(hosts, 2, {}, {})), ElementsAre("n[1-2]")) << "n3 is left over";
  EXPECT_THAT(nodes_of(slots_in(hosts, 1, {}, 2)), ElementsAre("n1", "n2"));
  const std::vector<Slot> halves = {{.cpus = {0, 1}}, {.cpus = {2, 3}}};
  const auto parts = slots_in(hosts, 1, halves, 4);
  EXPECT_THAT(nodes_of(parts), ElementsAre("n1", "n2", "n3", "n1"));
  EXPECT_EQ(parts->back().cpus, halves[1].cpus);
  EXPECT_EQ(slots_in(hosts, 4, {}, {}).error().kind, ErrorKind::unsatisfiable);
}

}  // namespace
}  // namespace dllaunch
