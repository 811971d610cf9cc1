#include "launcher/failures/simulated_run.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/launcher/failures/replayed_run.hpp"

namespace dllaunch {
namespace {

constexpr double day_s = 86400;
constexpr double never_s = 1e15;

TEST(SimulatedRun, WithoutAFailureItTakesItsWorkStartAndCheckpoints) {
  const FailureCosts costs{.save_s = 10, .restart_s = 100};
  const auto run = simulate_run(hit_rates({.node_mtbf_s = never_s}, 4),
                                {.nodes = 4, .spare_nodes = 1, .interval_s = 1000}, costs, 5000, 1);
  EXPECT_TRUE(run.finished);
  EXPECT_DOUBLE_EQ(run.elapsed_s, 100 + 5000 + 4 * 10) << "none after the last piece";
  EXPECT_DOUBLE_EQ(run.node_s, 5 * run.elapsed_s);
  EXPECT_EQ(run.interruptions, 0);
  EXPECT_DOUBLE_EQ(run.effective(), 5000 / 5140.0);
}

TEST(SimulatedRun, ATimeLimitCostsTheQueue) {
  const FailureCosts costs{.save_s = 10, .restart_s = 100, .queue_s = 500};
  RecoveryRules rules{.nodes = 2, .limit_s = 3000, .grace_s = 60, .interval_s = 1e6};
  const auto hits = hit_rates({.node_mtbf_s = never_s}, 2);
  const auto run = simulate_run(hits, rules, costs, 5000, 1);
  // 2,840 s of training, then 2,160 s.
  EXPECT_DOUBLE_EQ(run.elapsed_s, 2940 + 10 + 500 + 100 + 2160);
  EXPECT_EQ(run.requeues, 0) << "by failures";
  rules.requeue_timeout = false;
  EXPECT_FALSE(simulate_run(hits, rules, costs, 5000, 1).finished);
}

TEST(SimulatedRun, WhatComesNowhereEnds) {
  const RecoveryRules rules{.nodes = 2, .limit_s = 50, .grace_s = 60, .interval_s = 100};
  const auto hits = hit_rates({.node_mtbf_s = never_s}, 2);
  EXPECT_FALSE(simulate_run(hits, rules, {.queue_s = 0}, 5000, 1).finished);
  const auto hopeless = hit_rates({.node_mtbf_s = 10}, 8);
  RecoveryRules rare{.nodes = 8, .max_restarts = 100, .interval_s = 1e6};
  const auto run = simulate_run(hopeless, rare, {}, 1e6, 1);
  EXPECT_FALSE(run.finished);
  EXPECT_EQ(run.work_s, 0);
  rare.trains = true;
  EXPECT_EQ(simulate_run(hopeless, rare, {}, 1e6, 1).interruptions, 3)
      << "three attempts without a checkpoint stop a training";
}

TEST(SimulatedRun, TheSameSeedIsTheSameRun) {
  const auto hits = hit_rates({.node_mtbf_s = 30 * day_s, .uneven_times = 0.5}, 16);
  const RecoveryRules rules{.nodes = 16, .interval_s = 3600};
  const auto one = simulate_run(hits, rules, {}, 14 * day_s, 5);
  EXPECT_EQ(one.elapsed_s, simulate_run(hits, rules, {}, 14 * day_s, 5).elapsed_s);
  EXPECT_NE(one.elapsed_s, simulate_run(hits, rules, {}, 14 * day_s, 6).elapsed_s);
}

/// Many nodes that fail independently: what the simulation knows is all there is to know.
NodeOutages even_trace() {
  NodeOutages trace{.nodes = 100, .until_s = 400 * day_s};
  std::mt19937_64 random(3);
  std::exponential_distribution<double> wait(1 / (20 * day_s));
  for (int node = 0; node < trace.nodes; ++node)
    for (double at = wait(random); at < trace.until_s; at += 3600 + wait(random))
      trace.all.push_back({.node = fmt::format("n{:03}", node),
                           .failed_s = at,
                           .repaired_s = std::min(at + 3600, trace.until_s)});
  return trace;
}

/// The replay asks the supervisor's own decide(): so these rules are its rules.
TEST(SimulatedRun, RecoversAsTheSupervisorDecides) {
  const auto trace = even_trace();
  const TracedFleet fleet(trace);
  const FailureRates rates{.node_mtbf_s = 20 * day_s};
  const FailureCosts costs{
      .save_s = 60, .detect_s = 300, .node_down_s = 900, .restart_s = 600, .queue_s = 7200};
  const double work_s = 5 * day_s;
  const RecoveryRules plain{.nodes = 16, .max_restarts = 0, .interval_s = 5000};
  std::vector<RecoveryRules> all(8, plain);
  all[1].spare_nodes = 2, all[1].max_restarts = 3;
  all[2].spare_nodes = 4, all[2].max_restarts = 2;
  all[3].min_nodes = 13, all[3].max_restarts = 9;
  all[4].spare_nodes = 1, all[4].min_nodes = 14, all[4].max_restarts = 9;
  all[5].spare_nodes = 3, all[5].max_restarts = 9, all[5].limit_s = day_s;
  all[6].spare_nodes = 3, all[6].max_restarts = 9, all[6].trains = true, all[6].interval_s = 60'000;
  all[7].spare_nodes = 3, all[7].max_restarts = 9, all[7].requeue_node_fail = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& rules = all[i];
    const auto hits = hit_rates(rates, rules.nodes + rules.spare_nodes);
    constexpr int runs = 600;
    SimulatedRun simulated{};
    SimulatedRun replayed{};
    double finished = 0;
    const auto add = [](SimulatedRun& sum, const SimulatedRun& one) {
      sum.elapsed_s += one.elapsed_s / runs;
      sum.work_s += one.work_s / runs;
      sum.interruptions += one.interruptions;
      sum.restarts += one.restarts;
      sum.requeues += one.requeues;
    };
    for (int run = 0; run < runs; ++run) {
      const auto seed = static_cast<std::uint64_t>(run);
      const auto one = simulate_run(hits, rules, costs, work_s, seed);
      const auto other = replay_run(fleet, rules, costs, work_s, run * 0.6 * day_s, seed);
      add(simulated, one);
      add(replayed, other);
      finished += static_cast<double>(one.finished) - static_cast<double>(other.finished);
    }
    const auto near = [&](double one, double other) {
      EXPECT_NEAR(one, other, 0.05 * std::max(one, other) + 0.02 * runs * 0.5) << "rules " << i;
    };
    EXPECT_NEAR(simulated.elapsed_s, replayed.elapsed_s, 0.04 * replayed.elapsed_s)
        << "rules " << i;
    EXPECT_NEAR(simulated.work_s, replayed.work_s, 0.05 * work_s) << "rules " << i;
    near(simulated.interruptions, replayed.interruptions);
    near(simulated.restarts, replayed.restarts);
    near(simulated.requeues, replayed.requeues);
    EXPECT_NEAR(finished / runs, 0, 0.06) << "rules " << i;
  }
}

}  // namespace
}  // namespace dllaunch
