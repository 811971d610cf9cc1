// Overlap, compression, gradient lag and sharding in all combinations on real ranks: 20 losses
// compared with one rank's. DLLAUNCH_TEST_FULL=1 runs every cell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "support/json.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

const std::string bin = DLLAUNCH_BIN_DIR;

struct Cell {
  int ranks = 1;
  bool overlap = true;
  std::string compression = "none";
  int lag = 0;
  bool shard = false;
  int accumulate = 1;

  std::string name() const {
    return fmt::format("{}_ranks{}_{}{}{}{}", ranks, overlap ? "" : "_no_overlap", compression,
                       lag == 0 ? "" : "_lag", shard ? "_shard" : "",
                       accumulate == 1 ? "" : "_accumulate");
  }
};

/// 97 images in steps of 24: the last of an epoch has one image, so all ranks but one have none.
Json job_of(const Cell& cell) {
  Json job = Json::parse(R"({
    "model": "lenet", "backend": "reference", "max_steps": 20, "epochs": 9,
    "dataset": {"kind": "synthetic", "images": 97, "workers": 1}, "validate_every": 0,
    "optimizer": {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.0001},
    "checkpoint": {"every_epochs": null}})");
  job["batch_size"] = 24 / cell.ranks / cell.accumulate;
  job["accumulate"] = cell.accumulate;
  job["optimizer"]["shard"] = cell.shard;
  job["runtime"] = {{"bucket_mb", 0.05},
                    {"overlap", cell.overlap},
                    {"compression", cell.compression},
                    {"gradient_lag", cell.lag}};
  return job;
}

struct Outcome {
  std::vector<double> losses;
  std::string weights;  // both tensor files, at the end
};

Outcome outcome_of(const Cell& cell) {
  const ScratchFolder folder;
  write_text(folder / "train.json", job_of(cell).dump());
  const std::vector<std::string> command{bin + "/every_loss", (folder / "train.json").string(),
                                         (folder / "losses").string()};
  const auto ended = run_program(cell.ranks == 1 ? command : on_ranks(cell.ranks, command));
  EXPECT_EQ(ended.exit_code, 0) << cell.name() << ": " << ended.output;
  Outcome outcome;
  std::ifstream in(folder / "losses");
  for (double loss = 0; in >> loss;) outcome.losses.push_back(loss);
  outcome.weights = weights_at(folder.path(), "step-00000020");
  return outcome;
}

/// Relative tolerance of a loss. In fp32 only the order of sums differs; halves round each gradient
/// to 11 or 8 bits.
double tolerance(const Cell& cell) {
  if (cell.ranks == 1 || cell.compression == "none") return 1e-4;
  return cell.compression == "fp16" ? 1e-3 : 5e-3;
}

double worst_difference(const std::vector<double>& got, const std::vector<double>& expected) {
  double worst = got.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    worst = std::max(worst, std::abs(got[i] - expected[i]) / expected[i]);
  }
  return worst;
}

std::vector<Cell> cells() {
  // Each option alone, all together, an odd number of ranks, and pairs with the same arithmetic.
  std::vector<Cell> some = {
      {.ranks = 2, .shard = true},
      {.ranks = 2, .overlap = false},
      {.ranks = 3, .compression = "bf16", .lag = 1, .shard = true},
      {.ranks = 3, .compression = "bf16", .lag = 1},
      {.ranks = 4, .lag = 1},
      {.ranks = 4, .compression = "fp16", .lag = 1, .shard = true, .accumulate = 2},
      {.ranks = 4, .overlap = false, .compression = "fp16", .lag = 1, .accumulate = 2},
      {.ranks = 1, .compression = "bf16", .lag = 1, .shard = true},
  };
  if (!full_tier()) return some;
  std::vector<Cell> all;
  for (const int ranks : {1, 2, 3, 4}) {
    for (const bool overlap : {true, false}) {
      for (const char* compression : {"none", "fp16", "bf16"}) {
        for (const int lag : {0, 1}) {
          for (const bool shard : {false, true}) {
            for (const int accumulate : {1, 2}) {
              all.push_back({ranks, overlap, compression, lag, shard, accumulate});
            }
          }
        }
      }
    }
  }
  return all;
}

TEST(ReducerMatrix, TwentyLossesEqualThoseOfOneRank) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const std::map<int, Outcome> one_rank = {{0, outcome_of({})}, {1, outcome_of({.lag = 1})}};
  ASSERT_EQ(one_rank.at(0).losses.size(), 20u);
  EXPECT_LT(one_rank.at(0).losses.back(), one_rank.at(0).losses.front());
  EXPECT_LT(one_rank.at(1).losses[18], one_rank.at(1).losses.front());
  EXPECT_EQ(one_rank.at(1).losses[0], one_rank.at(0).losses[0]);
  EXPECT_EQ(one_rank.at(1).losses[1] == one_rank.at(0).losses[1], false)
      << "gradient lag has no effect";
  // Options that do not change the arithmetic give the same bits: (ranks, compression, lag,
  // accumulate).
  std::map<std::tuple<int, std::string, int, int>, Outcome> of_arithmetic;
  int compared = 0;
  double worst_halves = 0;
  for (const Cell& cell : cells()) {
    const Outcome outcome = outcome_of(cell);
    const double worst = worst_difference(outcome.losses, one_rank.at(cell.lag).losses);
    EXPECT_LE(worst, tolerance(cell)) << cell.name();
    if (cell.ranks > 1 && cell.compression != "none") worst_halves = std::max(worst_halves, worst);
    const auto [same, is_first] = of_arithmetic.try_emplace(
        {cell.ranks, cell.compression, cell.lag, cell.accumulate}, outcome);
    compared += is_first ? 0 : 1;
    EXPECT_EQ(outcome.losses, same->second.losses) << cell.name();
    EXPECT_EQ(outcome.weights == same->second.weights, true) << cell.name();
  }
  EXPECT_GE(compared, 3);
  EXPECT_GT(worst_halves, 1e-7) << "nothing was compressed";
  fmt::print("largest difference of a loss: {:.2g} with 16-bit gradients\n", worst_halves);
}

/// The first gradient arrives late but is applied before the end, with the rate of its own step.
/// With a warm-up that differs from the next step's.
TEST(ReducerMatrix, ALateGradientIsAppliedOnceWithItsOwnRate) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const auto weights_after = [](int lag, int steps, double lr) {
    const ScratchFolder folder;
    Json job = job_of({.lag = lag});
    job["max_steps"] = steps;
    job["optimizer"]["lr"] = lr;
    job["optimizer"]["momentum"] = 0;
    job["lr_schedule"] = {{"scaling", "linear"}, {"warmup_epochs", 2}};
    write_text(folder / "train.json", job.dump());
    const auto ended =
        run_program(on_ranks(2, {bin + "/dltrain", "--config", (folder / "train.json").string()}));
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    return weights_at(folder.path(), fmt::format("step-{:08}", steps));
  };
  const std::string once = weights_after(0, 1, 0.02);
  EXPECT_TRUE(weights_after(1, 1, 0.02) == once) << "lost, or applied twice";
  EXPECT_FALSE(weights_after(1, 1, 0.03) == once) << "the rate has no effect";
  // Of two steps, the second gradient, computed from the initial weights, is applied last.
  EXPECT_FALSE(weights_after(1, 2, 0.02) == weights_after(0, 2, 0.02))
      << "gradient lag has no effect";
}

/// Checkpoints do not depend on sharding or the number of ranks.
TEST(ReducerMatrix, CheckpointsDoNotDependOnShardingOrRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const auto train = [&](const std::string& run, Cell cell, int max_steps, double momentum) {
    Json job = job_of(cell);
    job["max_steps"] = max_steps;
    job["optimizer"]["momentum"] = momentum;
    write_text(folder / run / "train.json", job.dump());
    const std::vector<std::string> command{bin + "/dltrain", "--config",
                                           (folder / run / "train.json").string()};
    const auto ended = run_program(cell.ranks == 1 ? command : on_ranks(cell.ranks, command));
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
  };
  // On two ranks, bit for bit: in one go, and in parts that are sharded, whole, sharded.
  train("whole", {.ranks = 2}, 9, 0.9);
  train("parts", {.ranks = 2, .shard = true}, 3, 0.9);
  train("parts", {.ranks = 2}, 6, 0.9);
  train("parts", {.ranks = 2, .compression = "none", .shard = true}, 9, 0.9);
  EXPECT_TRUE(weights_at(folder / "parts", "step-00000009") ==
              weights_at(folder / "whole", "step-00000009"));
  // Other numbers of ranks are accepted.
  train("parts", {.ranks = 3, .shard = true}, 11, 0.9);
  train("parts", {.ranks = 1, .shard = true}, 13, 0.9);
  train("parts", {.ranks = 4, .lag = 1, .shard = true}, 15, 0.9);
  EXPECT_EQ(events_of(folder / "parts", "restart").size(), 5u);
}

/// Late gradients are applied before a checkpoint: a resumed run continues identically.
TEST(ReducerMatrix, LateGradientsAreInTheCheckpoint) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const auto train = [&](const std::string& run, int max_steps) {
    Json job = job_of({.ranks = 2, .lag = 1, .shard = true});
    job["max_steps"] = max_steps;
    job["checkpoint"] = {{"every_epochs", 1}, {"keep", 9}};
    write_text(folder / run / "train.json", job.dump());
    const auto ended = run_program(
        on_ranks(2, {bin + "/dltrain", "--config", (folder / run / "train.json").string()}));
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
  };
  train("whole", 15);
  train("parts", 5);  // the end of the first epoch, where the uninterrupted run saved too
  train("parts", 15);
  for (const char* step : {"step-00000005", "step-00000010", "step-00000015"}) {
    EXPECT_TRUE(weights_at(folder / "parts", step) == weights_at(folder / "whole", step)) << step;
  }
}

}  // namespace
}  // namespace dllaunch
