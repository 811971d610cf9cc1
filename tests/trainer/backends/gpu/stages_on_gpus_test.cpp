// A network in stages, each on ranks with fake GPUs under mpirun, trains as it does on one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "runtime/communicators/host/transports.hpp"
#include "runtime/communicators/nccl/nccl_communicator.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/session/loss_scaling.hpp"
#include "trainer/tensors/safetensors.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

using testing::IsEmpty;

RankEnv this_rank() {
  return *read_rank_env(process_environment());
}

constexpr const char* residual = R"({"layers": [
    {"kind": "conv2d", "channels": 4, "kernel": 3, "stride": 2, "bias": false}, "batch_norm",
    {"kind": "relu", "name": "trunk"},
    {"kind": "conv2d", "channels": 4, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
    {"kind": "add", "of": ["batch_norm2", "trunk"]}, {"kind": "relu", "name": "joined"},
    {"kind": "conv2d", "channels": 4, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
    {"kind": "add", "of": ["batch_norm3", "joined"]}, {"kind": "relu", "name": "again"},
    {"kind": "conv2d", "channels": 4, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
    {"kind": "add", "of": ["batch_norm4", "again"]}, "relu",
    "flatten", {"kind": "dropout", "rate": 0.3}, {"kind": "dense", "units": 10}]})";

/// 40 images in steps of 12, the last of an epoch smaller; micro-batches of 3.
TrainConfig job(const std::string& model, const std::string& precision) {
  Json text = Json::parse(R"({
    "backend": "host_gpu", "max_steps": 6, "epochs": 9, "batch_size": 3, "accumulate": 4,
    "global_batch": 12, "validate_every": 1,
    "dataset": {"kind": "synthetic", "images": 40, "workers": 1},
    "optimizer": {"name": "sgd", "lr": 0.02, "momentum": 0.9, "clip_norm": 0.5},
    "runtime": {"bucket_mb": 0.05}})");
  text["model"] = model == "residual" ? Json::parse(residual) : Json(model);
  text["precision"] = precision;
  if (model == "gpt2-tiny") text["dataset"].update({{"sequence", 12}, {"classes", 50}});
  auto config = parse_config(text.dump());
  EXPECT_TRUE(config) << config.error().what;
  return *std::move(config);
}

/// What rank 0 has seen.
struct Curve {
  std::vector<double> losses;
  Json last_epoch;
  std::vector<Tensor> weights;
};

Curve curve_of(std::vector<double> losses, const std::filesystem::path& run_dir) {
  auto file = read_safetensors(run_dir / "checkpoints/step-00000006/model.safetensors");
  EXPECT_TRUE(file) << file.error().what;
  return {std::move(losses), events_of(run_dir, "epoch").back(), std::move(file->tensors)};
}

class StagesOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    host_gpus().pci = {"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"};
    ::setenv("DLLAUNCH_GPUS", "", 1);
    host_collectives() = {};
  }
  PrepareOptions options(const TrainConfig& config) {
    return {.config = config,
            .run_dir = folder.path(),
            .threads = 1,
            .warn = [this](std::string_view line) { warnings.emplace_back(line); },
            .open_peers = [] { return open_peers(this_rank()); },
            .open_replicas =
                [](std::unique_ptr<Peers> group, std::string& why) {
                  return open_automatic_group(std::move(group), this_rank(), true, why,
                                              NcclCommunicator::open);
                }};
  }
  std::vector<double> train_in_stages(const TrainConfig& config) {
    const auto world = all_ranks();
    std::vector<double> losses;
    const auto report =
        train({.prepare = options(config),
               .host = "here",
               .on_step = [&](const StepReport& step) { losses.push_back(step.loss); }},
              *world);
    EXPECT_TRUE(report && report->status == TrainStatus::completed);
    if (!report) ADD_FAILURE() << report.error().what;
    return losses;
  }
  void expect_as_on_one_rank(TrainConfig config, double tolerance) {
    const bool first = this_rank().rank == 0;
    const ScratchFolder alone;
    Curve expected;
    if (first) expected = curve_of(train_alone(config, alone.path())->losses, alone.path());
    config.runtime.pipeline.stages = this_rank().world_size;
    const std::size_t before = host_gpus().replays;
    const auto losses = train_in_stages(config);
    EXPECT_GT(host_gpus().replays, before) << "graphs are captured";
    EXPECT_THAT(warnings, testing::Each(testing::HasSubstr("in place of a GPU")));
    if (!first) return;
    const Curve curve = curve_of(losses, folder.path());
    ASSERT_EQ(curve.losses.size(), 6u);
    for (std::size_t i = 0; i < curve.losses.size(); ++i) {
      EXPECT_NEAR(curve.losses[i], expected.losses[i], tolerance * expected.losses[i]) << i;
    }
    EXPECT_NEAR(curve.last_epoch["val_loss"], expected.last_epoch["val_loss"], 10 * tolerance);
    EXPECT_EQ(curve.last_epoch.contains("loss_scale"), config.precision == Precision::fp16);
    for (const char* key : {"loss_scale", "skipped_steps"}) {
      if (!curve.last_epoch.contains(key)) continue;
      EXPECT_EQ(curve.last_epoch[key], expected.last_epoch[key]);
    }
    ASSERT_EQ(curve.weights.size(), expected.weights.size());
    for (std::size_t t = 0; t < curve.weights.size(); ++t) {
      const Tensor& wanted = expected.weights[t];
      const auto got = std::ranges::find(curve.weights, wanted.name, &Tensor::name);
      ASSERT_NE(got, curve.weights.end()) << wanted.name;
      if (wanted.type != DType::f32) continue;
      const auto* const a = reinterpret_cast<const float*>(got->data.data());
      const auto* const b = reinterpret_cast<const float*>(wanted.data.data());
      double difference = 0;
      double size = 0;
      for (std::size_t i = 0; i < wanted.data.size() / sizeof(float); ++i) {
        difference += std::pow(double{a[i]} - double{b[i]}, 2);
        size += std::pow(b[i], 2);
      }
      EXPECT_LE(std::sqrt(difference), tolerance * (0.1 + std::sqrt(size))) << wanted.name;
    }
  }

  const ScratchFolder folder;
  std::vector<std::string> warnings;
};

TEST_F(StagesOnGpus, TrainLenetAsOneDoes) {
  expect_as_on_one_rank(job("lenet", "fp32"), 2e-5);
}
TEST_F(StagesOnGpus, TrainABatchNormalisedNetworkWithDropoutAsOneDoes) {
  expect_as_on_one_rank(job("residual", "fp32"), 2e-5);
}
TEST_F(StagesOnGpus, TrainGpt2WithItsSharedWeightAsOneDoes) {
  expect_as_on_one_rank(job("gpt2-tiny", "fp32"), 2e-5);
}
TEST_F(StagesOnGpus, TrainInBfloat16AsOneDoes) {
  expect_as_on_one_rank(job("residual", "bf16"), 5e-3);
}
TEST_F(StagesOnGpus, TrainInHalfPrecisionAsOneDoes) {
  expect_as_on_one_rank(job("lenet", "fp16"), 2e-3);
}

/// Replicas of a stage, each on a GPU of its own.
TEST_F(StagesOnGpus, SumTheGradientsOfReplicasThere) {
  if (this_rank().world_size < 4) GTEST_SKIP() << "takes four ranks";
  TrainConfig config = job("lenet", "fp32");
  config.optimizer_options.momentum = 0;
  const ScratchFolder alone;
  std::vector<double> expected;
  if (this_rank().rank == 0) expected = train_alone(config, alone.path())->losses;
  config.runtime.pipeline.stages = 2;
  const auto losses = train_in_stages(config);
  EXPECT_GT(host_collectives().calls.size(), 6u);
  EXPECT_THAT(host_collectives().complaints, IsEmpty());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 2e-5 * expected[i]) << i;
  }
}

/// What one stage alone finds keeps all from updating.
TEST_F(StagesOnGpus, LeaveOutTheSameSteps) {
  TrainConfig config = job("lenet", "fp16");
  config.runtime.pipeline.stages = 2;
  const auto world = all_ranks();
  auto session = prepare(options(config), *world);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_TRUE(session->arenas->on_device());
  EXPECT_EQ(session->replicas->name(), this_rank().world_size == 2 ? "solo" : "nccl");
  LossScale scale{.factor = 4};
  LossScaling scaling(Precision::fp16, scale, *session->arenas, *world, /*staged=*/true);
  const float endless = HUGE_VALF;
  if (this_rank().rank == 0) {
    ASSERT_EQ(gpu_copy(session->arenas->gradients().data(), &endless, sizeof endless), gpu_success);
  }
  EXPECT_FALSE(scaling.take_back());
  EXPECT_EQ(scale.factor, 2);
}

/// Segments are timed with their parameters on the GPU, whose memory limits a stage.
TEST_F(StagesOnGpus, AreCutToFitTheGpu) {
  TrainConfig config = job("lenet", "fp32");
  config.runtime.pipeline.stages = 2;
  config.optimizer = "adam";  // whose states make a stage larger than what is timed
  config.average.decay = 0.9;
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = host_gpus().in_use[host_gpu_of_thread()] + (std::size_t{1} << 20);
  const auto world = all_ranks();
  const auto session = prepare(options(config), *world);
  host_gpus().bytes_each = all;
  ASSERT_FALSE(session);
  if (this_rank().rank == 0) {
    EXPECT_THAT(session.error().what, testing::HasSubstr("no cut into 2 stages fits the 0.00 GiB"));
  }
}

}  // namespace
}  // namespace dllaunch
