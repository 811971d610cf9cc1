// Dense layers split among ranks train as whole ones: on real ranks under mpirun, in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/json.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/curve.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// 110 images in steps of 24, in micro-batches of 3; the last step of an epoch has 14. The last
/// layer's 10 columns are no multiple of 3.
Json lenet_job(const std::string& optimizer = "sgd") {
  Json job = Json::parse(R"({
    "model": "lenet", "backend": "reference", "precision": "fp64", "max_steps": 20, "epochs": 9,
    "batch_size": 3, "accumulate": 4, "global_batch": 24,
    "dataset": {"kind": "synthetic", "images": 110, "workers": 1}, "validate_every": 5,
    "optimizer": {"weight_decay": 0.01, "clip_norm": 0.5},
    "ema": {"decay": 0.9}, "runtime": {"bucket_mb": 0.05}})");
  job["optimizer"]["name"] = optimizer;
  job["optimizer"]["lr"] = optimizer == "sgd" ? 0.02 : 0.002;
  if (optimizer == "sgd") job["optimizer"]["momentum"] = 0.9;
  return job;
}

Json split(Json job, const Json& layers) {
  job["runtime"]["split_dense"] = layers;
  return job;
}

class SplitLayers : public testing::TestWithParam<std::string> {};

/// The same weights, optimiser state and average after 20 steps as of one rank, to the rounding of
/// doubles, with optimisers that need norms too.
TEST_P(SplitLayers, TrainAsOnOneRank) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const Json job = lenet_job(GetParam());
  const Curve expected = train_on(1, job, folder / "whole");
  ASSERT_EQ(expected.losses.size(), 20u);
  EXPECT_LT(expected.losses.back(), expected.losses.front());
  for (const int ranks : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    if (GetParam() == "lamb" && ranks != 3) continue;
    expect_same(train_on(ranks, split(job, {"fc1", "fc2", "fc3"}), folder / std::to_string(ranks)),
                expected, 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SplitLayers, testing::Values("sgd", "adamw", "lamb"),
                         [](const auto& tested) { return tested.param; });

/// As data parallelism on as many ranks, whose masks and statistics they share.
TEST(SplitTraining, WithDropoutAndBatchNorm) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  Json job = lenet_job();
  job.erase("global_batch");
  job["accumulate"] = 2;
  job["batch_size"] = 6;
  job["model"] = Json::parse(R"({"layers": [
      {"kind": "conv2d", "channels": 4, "kernel": 3, "stride": 2, "bias": false}, "batch_norm",
      "relu", "flatten", {"kind": "dense", "units": 25}, "relu", {"kind": "dropout", "rate": 0.3},
      {"kind": "dense", "units": 12}, "tanh", {"kind": "dropout", "rate": 0.2},
      {"kind": "dense", "units": 10}]})");
  for (const bool synchronised : {false, true}) {
    job["sync_batch_norm"] = synchronised;
    const std::string name = synchronised ? "sync" : "each";
    const Curve expected = train_on(2, job, folder / ("whole-" + name));
    expect_same(train_on(2, split(job, {"dense1", "dense2"}), folder / name), expected, 1e-5);
  }
}

/// Layers below the lowest trained one compute no gradients, in whatever part they are.
TEST(SplitTraining, WithFrozenLayers) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  Json job = lenet_job();
  job["freeze"] = {"conv1", "conv2", "fc1", "fc3.bias"};
  const Curve expected = train_on(1, job, folder / "whole");
  expect_same(train_on(2, split(job, {"fc1", "fc2"}), folder / "split"), expected, 1e-5);
}

/// A checkpoint of split layers is one of the whole network, on any number of ranks.
TEST(SplitTraining, ARunContinuesOnOtherRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = lenet_job();
  const Curve whole = train_on(1, job, folder / "whole");
  std::vector<double> losses;
  Curve part;
  for (const auto& [ranks, layers, until] : {std::tuple(2, Json{"fc1", "fc3"}, 3),
                                             {1, Json::array(), 8},
                                             {3, Json{"fc2", "fc3"}, 12},
                                             {2, Json::array(), 17},
                                             {2, Json{"fc1"}, 20}}) {
    job["max_steps"] = until;
    part = train_on(ranks, split(job, layers), folder / "parts");
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
  }
  part.losses = losses;
  expect_same(part, whole, 1e-5);
}

/// All ranks leave a checkpoint out together, or those that gather it would wait for rank 0.
TEST(SplitTraining, ACheckpointIsSkippedWhileTheOneBeforeIsWritten) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  Json job = lenet_job();
  const Curve expected = train_on(2, split(job, {"fc1", "fc3"}), folder / "each");
  // Longer than all steps, even with sanitizers.
  job["checkpoint"] = {{"mb_per_s", 0.01}, {"wait_seconds", 0}};
  expect_same(train_on(2, split(job, {"fc1", "fc3"}), folder / "skipped"), expected, 0);
  EXPECT_FALSE(events_of(folder / "skipped", "checkpoint_failed").empty());
}

/// From a file of the whole network, of which each rank takes its columns.
TEST(SplitTraining, FromAFile) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = lenet_job();
  job["max_steps"] = 2;
  train_on(2, split(job, {"fc1", "fc2"}), folder / "before");
  job["init_from"] = newest_checkpoint(folder / "before") + "/model.safetensors";
  job["init_skip"] = {"fc3"};
  job["seed"] = 5;
  job["max_steps"] = 5;
  const Curve expected = train_on(1, job, folder / "whole");
  expect_same(train_on(2, split(job, {"fc1", "fc3"}), folder / "split"), expected, 1e-5);
}

TEST(SplitTraining, OnTheFastestBackend) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const std::string fastest(usable_backends().front().name);
  if (fastest != "onednn") GTEST_SKIP() << "no onednn";
  const ScratchFolder folder;
  auto job = lenet_job();
  job["backend"] = fastest;
  job["max_steps"] = 8;
  job["precision"] = "fp32";
  const Curve expected = train_on(1, job, folder / "whole");
  expect_same(train_on(2, split(job, {"fc1", "fc3"}), folder / "split"), expected, 1e-4);
  job["precision"] = "bf16";
  const Curve half = train_on(2, split(job, {"fc1", "fc2"}), folder / "half");
  EXPECT_NEAR(half.losses.back(), expected.losses.back(), 0.05 * expected.losses.back());
}

/// The most memory of a rank, of its last epoch.
double peak_memory(const std::filesystem::path& run_dir) {
  return events_of(run_dir, "ranks").back()["peak_memory_bytes"].get<double>();
}

/// The classic: its dense layers have most of the weights.
TEST(SplitTraining, AlexNetNeedsLessMemoryOnEachRank) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  if (usable_backends().front().name != "onednn") GTEST_SKIP() << "no onednn";
  const ScratchFolder folder;
  const Json job = Json::parse(R"({
    "model": "alexnet_bn", "backend": "onednn", "epochs": 1, "max_steps": 3, "batch_size": 2,
    "validate_every": 0, "checkpoint": {"every_epochs": null},
    "dataset": {"kind": "synthetic", "images": 40, "channels": 3, "image_size": 95, "workers": 1},
    "optimizer": {"name": "adamw", "lr": 0.0001}})");
  const Curve whole = train_on(2, job, folder / "whole");
  const Curve halves = train_on(2, split(job, {"fc6", "fc7"}), folder / "halves");
  ASSERT_EQ(halves.losses.size(), 3u);
  EXPECT_NEAR(halves.losses.back(), whole.losses.back(), 0.02 * whole.losses.back());
  EXPECT_LT(peak_memory(folder / "halves"), 0.8 * peak_memory(folder / "whole"));
}

TEST(SplitTraining, WhatDoesNotFitIsRefusedByAllRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  write_text(folder / "train.json", split(lenet_job(), {"fc9"}).dump());
  const auto ended = run_program(on_ranks(2, {std::string(DLLAUNCH_BIN_DIR) + "/dltrain",
                                              "--config", (folder / "train.json").string()}));
  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("model lenet has no dense layer fc9"));
  EXPECT_THAT(ended.output, HasSubstr("its dense layers: fc1, fc2, fc3"));
}

}  // namespace
}  // namespace dllaunch
