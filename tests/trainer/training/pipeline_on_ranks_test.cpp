// A network in stages trains as it does in one: on real ranks under mpirun, in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/json.hpp"
#include "tests/trainer/training/curve.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// 110 images in steps of 24, in micro-batches of 3; the last step of an epoch has 14.
Json small_job(const std::string& model) {
  Json job = Json::parse(R"({
    "backend": "reference", "precision": "fp64", "max_steps": 20, "epochs": 9,
    "batch_size": 3, "accumulate": 4, "global_batch": 24,
    "dataset": {"kind": "synthetic", "images": 110, "workers": 1}, "validate_every": 5,
    "optimizer": {"name": "adamw", "lr": 0.002, "weight_decay": 0.01, "clip_norm": 0.5},
    "ema": {"decay": 0.9},
    "runtime": {"bucket_mb": 0.05}})");
  job["model"] = model;
  if (model == "lenet") return job;
  // AdamW would enlarge the rounding of what stages exchange, which is f32.
  job["optimizer"] = {{"name", "sgd"}, {"lr", 0.02}, {"momentum", 0.9}, {"clip_norm", 0.5}};
  if (model == "gpt2-tiny") {
    job["dataset"]["sequence"] = 12;
    job["dataset"]["classes"] = 50;
    return job;
  }
  job["model"] = Json::parse(R"({"layers": [
      {"kind": "conv2d", "channels": 4, "kernel": 3, "stride": 2, "bias": false}, "batch_norm",
      {"kind": "relu", "name": "trunk"},
      {"kind": "conv2d", "channels": 4, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
      {"kind": "add", "of": ["batch_norm2", "trunk"]}, {"kind": "relu", "name": "joined"},
      {"kind": "conv2d", "channels": 4, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
      {"kind": "add", "of": ["batch_norm3", "joined"]}, "relu",
      "flatten", {"kind": "dropout", "rate": 0.3}, {"kind": "dense", "units": 10}]})");
  return job;
}

class InStages : public testing::TestWithParam<std::string> {};

/// The same weights, optimiser state and average after 20 steps as of as many replicas without
/// stages.
TEST_P(InStages, TrainsAsInOne) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const Json job = small_job(GetParam());
  std::map<int, Curve> expected;  // by replicas
  for (const int replicas : {1, 2}) {
    expected[replicas] = train_on(replicas, job, folder / std::to_string(replicas));
    ASSERT_EQ(expected[replicas].losses.size(), 20u);
    EXPECT_LT(expected[replicas].losses.back(), expected[replicas].losses.front());
  }
  for (const auto& [ranks, stages] : {std::pair(2, 2), {3, 3}, {4, 2}}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks, " + std::to_string(stages) + " stages");
    Json staged = job;
    staged["runtime"]["pipeline"]["stages"] = stages;
    expect_same(train_on(ranks, staged, folder / std::to_string(10 * ranks + stages)),
                expected[ranks / stages], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, InStages, testing::Values("lenet", "residual", "gpt2-tiny"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

/// A checkpoint of stages is one of the whole network, and of other stages.
TEST(Stages, ARunContinuesInOtherStages) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job("lenet");
  const Curve whole = train_on(1, job, folder / "whole");
  std::vector<double> losses;
  Curve part;
  for (const auto& [ranks, stages, until] :
       {std::tuple(2, 2, 3), {1, 1, 8}, {3, 3, 12}, {4, 2, 17}, {2, 1, 20}}) {
    job["max_steps"] = until;
    job["runtime"]["pipeline"]["stages"] = stages;
    part = train_on(ranks, job, folder / "parts");
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
  }
  part.losses = losses;
  expect_same(part, whole, 1e-5);
}

TEST(Stages, AMisfitInALaterStageNamesTheCheckpoint) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job("lenet");
  job["max_steps"] = 2;
  job["runtime"]["pipeline"]["stages"] = 2;
  train_on(2, job, folder / "run");
  job["dataset"]["classes"] = 12;
  write_text(folder / "run/train.json", job.dump());
  const auto ended = run_program(on_ranks(2, {std::string(DLLAUNCH_BIN_DIR) + "/dltrain",
                                              "--config", (folder / "run/train.json").string()}));
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.output,
              testing::ContainsRegex("run/checkpoints/step-00000002/model.safetensors: .*fc3"));
}

TEST(Stages, WhatDoesNotFitIsRefusedByAllRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job("lenet");
  job["runtime"]["pipeline"]["stages"] = 2;
  const auto refused = [&](int ranks) {
    write_text(folder / "train.json", job.dump());
    const auto ended = run_program(on_ranks(ranks, {std::string(DLLAUNCH_BIN_DIR) + "/dltrain",
                                                    "--config", (folder / "train.json").string()}));
    EXPECT_NE(ended.exit_code, 0);
    return ended.output;
  };
  EXPECT_THAT(refused(3), HasSubstr("3 ranks cannot be divided equally among 2 stages"));
  job["runtime"]["pipeline"]["cut"] = Json::array({"nosuch"});
  EXPECT_THAT(refused(2), HasSubstr("nosuch"));
}

}  // namespace
}  // namespace dllaunch
