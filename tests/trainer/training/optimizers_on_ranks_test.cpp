// Whole programs on real ranks with every kind of optimiser state: 20 losses compared with one
// rank's. DLLAUNCH_TEST_FULL=1 runs every optimiser.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "support/json.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

std::vector<double> every_loss(const Json& job, const std::filesystem::path& folder, int ranks) {
  write_text(folder / "train.json", job.dump());
  const std::vector<std::string> command{std::string(DLLAUNCH_BIN_DIR) + "/every_loss",
                                         (folder / "train.json").string(),
                                         (folder / "losses").string()};
  const auto ended = run_program(ranks == 1 ? command : on_ranks(ranks, command));
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  std::vector<double> losses;
  std::ifstream in(folder / "losses");
  for (double loss = 0; in >> loss;) losses.push_back(loss);
  return losses;
}

std::vector<double> losses_of(std::string_view optimizer, int ranks, bool shard) {
  Json job = Json::parse(R"({
    "model": "lenet", "backend": "reference", "max_steps": 20, "epochs": 9,
    "dataset": {"kind": "synthetic", "images": 97, "workers": 1}, "validate_every": 0,
    "lr_schedule": {"warmup_epochs": 1, "warmup_lr": 0, "decay": "polynomial", "power": 2},
    "runtime": {"bucket_mb": 0.05}, "checkpoint": {"every_epochs": null}})");
  job["batch_size"] = 24 / ranks;
  job["optimizer"] = {{"name", optimizer}, {"shard", shard}, {"weight_decay", 0.001}};
  // Far from zero, so that rounding cannot flip the sign of a step.
  if (find_optimizer(optimizer)->defaults.lr < 0.1) job["optimizer"]["lr"] = 0.002;
  if (optimizer == "lars") job["optimizer"].update({{"lr", 0.3}, {"trust_coefficient", 0.02}});
  if (optimizer != "sgd" && optimizer != "lars") job["optimizer"]["eps"] = 1e-3;
  const ScratchFolder folder;
  return every_loss(job, folder.path(), ranks);
}

TEST(OptimizersOnRanks, GiveTheLossesOfOneRank) {
  if (run_program({"mpirun", "--version"}).exit_code != 0) GTEST_SKIP() << "no mpirun";
  const bool full = full_tier();
  for (const auto& entry : optimizers()) {
    if (!full && entry.name != "adamw" && entry.name != "lars" && entry.name != "lamb") continue;
    const auto expected = losses_of(entry.name, 1, false);
    ASSERT_EQ(expected.size(), 20u);
    EXPECT_LT(expected[18], expected[0]) << entry.name;  // the last one has only one image
    for (const auto& [ranks, shard] : {std::pair(2, false), {3, true}}) {
      const auto losses = losses_of(entry.name, ranks, shard);
      ASSERT_EQ(losses.size(), expected.size()) << entry.name;
      for (std::size_t i = 0; i < losses.size(); ++i) {
        EXPECT_NEAR(losses[i], expected[i], 1e-4 * expected[i])
            << entry.name << ", " << ranks << " ranks, step " << i;
      }
    }
  }
}

/// Linear scaling with warm-up from the base rate: eight ranks take the same steps as one rank with
/// eight times the batch and rate.
TEST(OptimizersOnRanks, EightAtAScaledRateTakeTheStepsOfOneLargeBatch) {
  if (run_program({"mpirun", "--version"}).exit_code != 0) GTEST_SKIP() << "no mpirun";
  Json job = Json::parse(R"({
    "model": "lenet", "backend": "reference", "max_steps": 20, "epochs": 5,
    "dataset": {"kind": "synthetic", "images": 320, "workers": 1}, "validate_every": 0,
    "checkpoint": {"every_epochs": null}})");
  std::vector<std::vector<double>> losses;
  for (const int ranks : {1, 8}) {
    job["batch_size"] = 64 / ranks;
    job["optimizer"] = {{"name", "sgd"}, {"momentum", 0.9}, {"lr", ranks == 8 ? 0.01 : 0.08}};
    job["lr_schedule"] = {
        {"scaling", ranks == 8 ? "linear" : "none"}, {"warmup_epochs", 2}, {"decay", "cosine"}};
    if (ranks == 1) job["lr_schedule"]["warmup_lr"] = 0.01;
    const ScratchFolder folder;
    losses.push_back(every_loss(job, folder.path(), ranks));
  }
  ASSERT_EQ(losses[0].size(), 20u);
  ASSERT_EQ(losses[1].size(), 20u);
  EXPECT_LT(losses[0].back(), 0.5 * losses[0].front());
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(losses[1][i], losses[0][i], 1e-4 * losses[0][i]) << "step " << i;
  }
}

/// Resumes one rank's checkpoint at another rate: every rank knows the previous rate.
TEST(OptimizersOnRanks, AllCorrectTheMomentumAfterAResumeAtAnotherRate) {
  if (run_program({"mpirun", "--version"}).exit_code != 0) GTEST_SKIP() << "no mpirun";
  std::vector<double> of_one;
  for (const int ranks : {1, 2}) {
    Json job = Json::parse(R"({
      "model": "lenet", "backend": "reference", "batch_size": 24,
      "dataset": {"kind": "synthetic", "images": 96, "workers": 1}, "validate_every": 0,
      "optimizer": {"name": "lars", "lr": 0.4, "trust_coefficient": 0.02,
                    "momentum_correction": true}})");
    const ScratchFolder folder;
    ASSERT_EQ(every_loss(job, folder.path(), 1).size(), 4u);
    job["epochs"] = 3;
    job["batch_size"] = 24 / ranks;
    job["optimizer"]["lr"] = 0.1;
    const auto losses = every_loss(job, folder.path(), ranks);
    ASSERT_EQ(losses.size(), 8u);
    if (ranks == 1) of_one = losses;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i], of_one[i], 1e-4 * of_one[i]) << ranks << " ranks, step " << i;
    }
  }
}

}  // namespace
}  // namespace dllaunch
