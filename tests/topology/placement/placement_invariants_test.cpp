// The promises of place_ranks() (placement.hpp), on every available machine.
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/tier.hpp"
#include "tests/topology/discovery/damage.hpp"
#include "tests/topology/node/machines.hpp"
#include "tests/topology/placement/invariants.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

void try_request(const Topology& node, const PlacementRequest& request) {
  SCOPED_TRACE(node.source + ": " + std::to_string(request.ranks) + " ranks, mode " +
               std::to_string(static_cast<int>(request.mode)) + ", order " +
               std::to_string(static_cast<int>(request.order)) + (request.smt ? ", smt, " : ", ") +
               std::string(to_string(request.policy)) + ", cores " +
               std::string(to_string(request.cores)) + " " +
               std::to_string(request.cores_per_rank) + ", reserve " + request.reserve);
  const auto placement = place_ranks(node, request);
  if (placement)
    expect_promises_kept(node, request, *placement);
  else  // small nodes may be all first cores
    EXPECT_EQ(request.reserve, "first-core-per-l3") << placement.error().what;
}

// Near cores first, then the others: all of them, or as many as requested.
void try_far_requests(const Topology& node, int ranks) {
  const auto cores =
      static_cast<int>(std::count_if(node.cores.begin(), node.cores.end(), [&](const Core& core) {
        return core.cpus.intersects(node.allowed_cpus);
      }));
  const int share = ranks > 0 ? cores / ranks : 0;
  for (const auto mode : {BindMode::cores, BindMode::core, BindMode::numa})
    for (const bool smt : {false, true})
      try_request(node, {.ranks = ranks, .mode = mode, .cores = BindCores::fill, .smt = smt});
  if (share == 0) return;
  for (const auto choice : {BindCores::automatic, BindCores::near, BindCores::fill})
    try_request(node, {.ranks = ranks, .cores_per_rank = share, .cores = choice});
  for (const int wanted : {1, (share + 1) / 2})
    try_request(node, {.ranks = ranks, .cores_per_rank = wanted, .smt = true});
}

void try_all_requests(const Topology& node) {
  const auto gpus = static_cast<int>(node.gpus.size());
  const int most = 2 * (gpus > 0 ? gpus : static_cast<int>(node.cores.size()));
  for (int ranks = 0; ranks <= most && !testing::Test::HasFailure(); ++ranks) {
    // Pairs of ranks are compared: four hundred ranks take as long as all below a hundred.
    if (ranks > (quick_tier() ? 16 : 64) && ranks % 13 != 0 && ranks < most - 1 && !full_tier())
      continue;
    try_request(node, {.ranks = ranks});
    // The other options matter less for many ranks.
    if (ranks > 16 && (!full_tier() || ranks % 16 != 0)) continue;
    try_far_requests(node, ranks);
    // Every combination of options is tried, but in CI not with every number of ranks.
    int combination = ranks;
    for (const auto mode : {BindMode::cores, BindMode::core, BindMode::numa})
      for (const auto order : {RankOrder::gpu, RankOrder::numa})
        for (const bool smt : {false, true})
          for (const auto policy : {BindPolicy::closest, BindPolicy::spread})
            for (const auto* reserve : {"auto", "first-core-per-l3"}) {
              if (ranks > 2 && ++combination % (quick_tier() ? 25 : 5) != 0 && !full_tier())
                continue;
              try_request(node, {.ranks = ranks,
                                 .policy = policy,
                                 .mode = mode,
                                 .order = order,
                                 .smt = smt,
                                 .reserve = reserve});
            }
  }
}

TEST(PlacementInvariants, HoldOnOwnFixtures) {
  for (const auto& name : fixture_names()) try_all_requests(fixture(name));
}

TEST(PlacementInvariants, HoldOnCaptures) {
  if (captured_files().empty()) GTEST_SKIP() << "no captured topologies beside the repository";
  for (const auto& path : captured_files()) {
    const auto node = topology_from_xml(path);
    ASSERT_TRUE(node) << node.error().what;
    try_all_requests(*node);
  }
}

TEST(PlacementInvariants, TheSameNodeSeenByTwoHwlocsIsPlacedAlike) {
  if (captured_files().empty()) GTEST_SKIP() << "no captured topologies beside the repository";
  const auto with = topology_from_xml(captured("turin-4h200"));
  const auto without = topology_from_xml(captured("turin-4h200-nogpuosdev"));
  ASSERT_TRUE(with && without);
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const auto a = placed(*with, {.ranks = ranks});
    const auto b = placed(*without, {.ranks = ranks});
    EXPECT_EQ(to_json(*with, a), to_json(*without, b));
  }
}

IdSet some_of(const IdSet& set, int keep_one_in, Random& random) {
  IdSet kept;
  for (const int id : set.ids())
    if (random.one_in(keep_one_in)) kept.insert(id);
  return kept;
}

// A machine changed by a site, a cgroup and an unusual mainboard.
Topology random_machine(Random& random) {
  const auto word = [&](const char* name, int most) {
    return std::string(name) + ":" + std::to_string(1 + random.below(most)) + " ";
  };
  auto text =
      word("packages", 2) + word("numa", 4) + word("l3", 3) + word("cores", 6) + word("threads", 3);
  if (!random.one_in(4)) text += word("gpus", 8);
  if (random.one_in(2)) text += word("nics", 4);
  auto node = machine(text);
  if (random.one_in(2))
    node.allowed_cpus -= some_of(node.allowed_cpus, 2 + random.below(8), random);
  if (node.allowed_cpus.empty()) node.allowed_cpus.insert(0);
  for (auto& gpu : node.gpus) {
    switch (random.below(8)) {
      case 0:
        gpu.cpus = node.cpus();  // attached to the root
        break;
      case 1:
        gpu.cpus = {};
        break;
      case 2:
        gpu.cpus = some_of(gpu.cpus, 2, random);
        break;
      case 3:
        gpu.cpus =
            node.cores[static_cast<std::size_t>(random.below(static_cast<int>(node.cores.size())))]
                .cpus;
        break;
      default:
        break;
    }
    if (random.one_in(6)) gpu.numa = {};
    if (random.one_in(6)) gpu.package = -1;
  }
  if (random.one_in(5))
    for (std::size_t i = node.gpus.size(); i > 1; --i)
      std::swap(node.gpus[i - 1].cpus,
                node.gpus[static_cast<std::size_t>(random.below(static_cast<int>(i)))].cpus);
  return node;
}

TEST(PlacementInvariants, HoldOnRandomMachines) {
  constexpr int seed = 2024;
  std::printf("random machines: seed %d\n", seed);
  Random random(seed);
  const int machines = full_tier() ? 10000 : 2000;
  for (int i = 0; i < machines && !HasFailure(); ++i) {
    const auto node = random_machine(random);
    const auto modes = std::array{BindMode::cores, BindMode::core, BindMode::numa};
    PlacementRequest request{.ranks = random.below(20),
                             .mode = modes[static_cast<std::size_t>(random.below(3))],
                             .order = random.one_in(2) ? RankOrder::gpu : RankOrder::numa,
                             .smt = random.one_in(2)};
    if (random.one_in(3)) request.policy = BindPolicy::spread;
    if (random.one_in(4)) request.reserve = "first-core-per-l3";
    if (random.one_in(4)) request.cores_per_rank = 1 + random.below(4);
    const auto choices = std::array{BindCores::automatic, BindCores::near, BindCores::fill};
    request.cores = choices[static_cast<std::size_t>(random.below(3))];
    SCOPED_TRACE("machine " + std::to_string(i) + ": " + to_json(node).dump());
    SCOPED_TRACE("ranks " + std::to_string(request.ranks) + ", mode " +
                 std::to_string(static_cast<int>(request.mode)) + ", reserve " + request.reserve +
                 ", cores " + std::string(to_string(request.cores)) + " " +
                 std::to_string(request.cores_per_rank));
    const auto placement = place_ranks(node, request);
    if (!placement) {
      EXPECT_EQ(placement.error().kind, ErrorKind::unsatisfiable) << placement.error().what;
      continue;
    }
    expect_promises_kept(node, request, *placement);
    EXPECT_EQ(to_json(node, *place_ranks(node, request)), to_json(node, *placement));
  }
}

double milliseconds(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  auto best = Clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    work();
    best = std::min(best, Clock::now() - start);
  }
  return std::chrono::duration<double, std::milli>(best).count();
}

TEST(PlacementSpeed, IsNotNoticeable) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator is slow";
  const auto blade = fixture("eight-gcds-low-noise.json");
  const auto usual = milliseconds([&] { ASSERT_TRUE(place_ranks(blade, {})); });
  const auto large = machine("packages:2 numa:4 l3:4 cores:8 threads:2 gpus:16 nics:8");
  const auto whole = milliseconds([&] {
    const auto placement = place_ranks(large, {.ranks = 128});
    ASSERT_TRUE(placement);
    ASSERT_FALSE(to_json(large, *placement).dump().empty());
    ASSERT_FALSE(to_json(large).dump().empty());
  });
  std::printf("placement of 8 ranks on 112 CPUs: %.3f ms; of 128 on 512 with JSON: %.3f ms\n",
              usual, whole);
  // Generous: these machines are shared, and sanitizers are slow.
  EXPECT_LT(usual, 10);
  EXPECT_LT(whole, 50);
}

}  // namespace
}  // namespace dllaunch
