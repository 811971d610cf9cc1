// A training that goes on with fewer ranks, and with all again: 20 losses and the weights compared
// with those of a run that never changed, with all that ranks share or hold apart.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "support/json.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

/// null removes a key.
void patch(Json& into, const Json& more) {
  for (const auto& [key, value] : more.items()) {
    if (value.is_null())
      into.erase(key);
    else if (value.is_object() && into.contains(key) && into[key].is_object())
      patch(into[key], value);
    else
      into[key] = value;
  }
}

/// 110 images in steps of 24, as 3 ranks have them in one micro-batch each.
Json job_of(const Json& more) {
  Json job = Json::parse(R"({
    "model": "lenet", "backend": "reference", "epochs": 9, "validate_every": 0,
    "dataset": {"kind": "synthetic", "images": 110, "image_size": 28, "workers": 1},
    "batch_size": 8, "global_batch": 24, "optimizer": {"lr": 0.02, "momentum": 0.9},
    "lr_schedule": {"scaling": "linear", "warmup_epochs": 2},
    "runtime": {"bucket_mb": 0.05}, "checkpoint": {"every_epochs": null}})");
  patch(job, more);
  return job;
}

Json small_network() {
  return Json::parse(R"({"model": {"layers": [
      {"kind": "conv2d", "channels": 8, "kernel": 3}, "relu", "global_avg_pool",
      {"kind": "dense", "units": "classes"}]},
    "dataset": {"image_size": 10}, "optimizer": {"lr": 0.05}})");
}

Json with_batch_norm() {
  return Json::parse(R"({"model": {"layers": [
      {"kind": "conv2d", "channels": 8, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
      "relu", {"kind": "conv2d", "channels": 8, "kernel": 3, "bias": false}, "batch_norm",
      "relu", "global_avg_pool", {"kind": "dense", "units": "classes"}]},
    "dataset": {"image_size": 10}, "optimizer": {"lr": 0.05}})");
}

/// Values of the tensors of 32-bit floats in a file, by name.
std::map<std::string, std::vector<float>> floats_in(const std::filesystem::path& file) {
  const std::string bytes = read_text(file);
  std::uint64_t head = 0;
  std::memcpy(&head, bytes.data(), sizeof head);
  std::map<std::string, std::vector<float>> all;
  const Json header = Json::parse(bytes.substr(8, head));
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__" || tensor.at("dtype") != "F32") continue;
    const std::size_t begin = tensor.at("data_offsets").at(0);
    const std::size_t end = tensor.at("data_offsets").at(1);
    auto& values = all[name];
    values.resize((end - begin) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + 8 + head + begin, end - begin);
  }
  return all;
}

struct Outcome {
  std::vector<double> losses;
  Json state;                                         // of the last checkpoint
  std::map<std::string, std::vector<float>> tensors;  // of the last checkpoint
};

/// `parts`: ranks, and the step up to which they train.
Outcome train(Json job, const std::vector<std::pair<int, int>>& parts) {
  const ScratchFolder folder;
  Outcome outcome;
  const bool on_gpu = job["backend"] == "host_gpu";
  const auto program =
      std::string(DLLAUNCH_BIN_DIR) + (on_gpu ? "/every_loss_on_host_gpu" : "/every_loss");
  for (const auto& [ranks, until] : parts) {
    job["max_steps"] = until;
    write_text(folder / "train.json", job.dump());
    const auto ended = run_program(
        on_ranks(ranks, {"env", "OMP_NUM_THREADS=1", program, (folder / "train.json").string(),
                         (folder / "losses").string()}));
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    std::ifstream in(folder / "losses");
    for (double loss = 0; in >> loss;) outcome.losses.push_back(loss);
  }
  const auto newest = folder / "checkpoints" / "step-00000020";
  outcome.state = Json::parse(read_text(newest / "state.json"));
  for (const char* file : {"model", "optimizer"})
    outcome.tensors.merge(floats_in(newest / (std::string(file) + ".safetensors")));
  return outcome;
}

/// Relative to the largest value of each tensor.
double worst_tensor(const Outcome& one, const Outcome& other, std::string_view without) {
  double worst = one.tensors.size() == other.tensors.size() ? 0 : 1;
  for (const auto& [name, values] : one.tensors) {
    if (!without.empty() && name.find(without) != std::string::npos) continue;
    const auto& others = other.tensors.at(name);
    double largest = 1e-12;
    double difference = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      largest = std::max<double>(largest, std::abs(values[i]));
      difference = std::max<double>(difference, std::abs(values[i] - others.at(i)));
    }
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

void expect_that_of_three_ranks(const Json& more, double tolerance, std::string_view without = "") {
  const auto job = job_of(more);
  const auto whole = train(job, {{3, 20}});
  const auto changed = train(job, {{3, 7}, {2, 13}, {3, 20}});
  ASSERT_EQ(whole.losses.size(), 20u);
  ASSERT_EQ(changed.losses.size(), 20u);
  EXPECT_LT(whole.losses[18], whole.losses[0]);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(changed.losses[i], whole.losses[i], tolerance * whole.losses[i]) << i;
  }
  EXPECT_LT(worst_tensor(whole, changed, without), 100 * tolerance);
}

TEST(ElasticRanks, BringShardedStatesClippingAndTheAverageAlong) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  expect_that_of_three_ranks(Json::parse(R"({
    "optimizer": {"name": "adamw", "lr": 0.0007, "momentum": null, "eps": 1e-3, "shard": true,
                  "clip_norm": 0.5}, "ema": {"decay": 0.9}})"),
                             1e-5);
}

/// With the number of steps since it changed last.
TEST(ElasticRanks, BringTheLossScaleAlong) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  auto job = job_of(small_network());
  patch(job, Json::parse(R"({"backend": "host_gpu", "precision": "fp16"})"));
  const auto whole = train(job, {{3, 20}});
  const auto changed = train(job, {{3, 7}, {2, 13}, {3, 20}});
  ASSERT_EQ(whole.losses.size(), 20u);
  ASSERT_EQ(changed.losses.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(changed.losses[i], whole.losses[i], 1e-3 * whole.losses[i]) << i;
  }
  EXPECT_EQ(changed.state["loss_scale"], whole.state["loss_scale"]);
  EXPECT_GT(whole.state["loss_scale"]["good_steps"], 13) << "more than of any part";
}

/// The part of a gradient that rounding left for the next step is lost: far less than a gradient.
TEST(ElasticRanks, LoseWhatCompressionLeftOfOneGradient) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  expect_that_of_three_ranks(Json::parse(R"({"runtime": {"compression": "bf16"},
                                             "optimizer": {"shard": true, "lr": 0.007}})"),
                             1e-3);
}

/// Micro-batches keep their images. A rank with two of them in a step forgets older ones sooner in
/// its running statistics.
TEST(ElasticRanks, NormaliseTheSameMicroBatches) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  expect_that_of_three_ranks(with_batch_norm(), 1e-5, ".running_");
}

/// Statistics are over 12 images, not 24, on two ranks.
TEST(ElasticRanks, NormaliseMicroBatchesOfAllRanksAlike) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  auto job = with_batch_norm();
  job["sync_batch_norm"] = true;
  job["optimizer"]["lr"] = 0.005;
  expect_that_of_three_ranks(job, 5e-3, ".running_");
}

}  // namespace
}  // namespace dllaunch
