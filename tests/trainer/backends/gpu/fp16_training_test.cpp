// Complete trainings in half precision with loss scaling, on the host in place of a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

/// Only six steps: emulated half precision is slow.
TrainConfig few_steps(const std::string& backend, Precision precision) {
  TrainConfig config = small_config(backend);
  config.precision = precision;
  config.data.images = 24;
  config.batch_size = 8;
  return config;
}
TrainConfig half() {
  return few_steps("host_gpu", Precision::fp16);
}

TEST(Fp16Training, ComesNearSinglePrecision) {
  const ScratchFolder folder;
  const auto single = train_alone(few_steps("reference", Precision::fp32), folder / "fp32");
  const auto scaled = train_alone(half(), folder / "fp16");
  ASSERT_TRUE(single && scaled) << (scaled ? "" : scaled.error().what);
  ASSERT_EQ(scaled->losses.size(), single->losses.size());
  // Each skipped step puts it one behind.
  const auto epoch = events_of(folder / "fp16", "epoch").back();
  const auto left_out = epoch["skipped_steps"].get<int>();
  EXPECT_NEAR(scaled->losses.back(), single->losses.back(), 0.05 + 0.1 * left_out);
  const auto scale = epoch["loss_scale"].get<double>();
  EXPECT_EQ(scale, std::exp2(std::round(std::log2(scale)))) << "a power of two";
  EXPECT_FALSE(events_of(folder / "fp32", "epoch").back().contains("loss_scale"));
}

/// The scale is saved, so a resumed run continues bit for bit.
TEST(Fp16Training, ResumesAtTheSameBit) {
  const ScratchFolder folder;
  const auto whole = train_alone(half(), folder / "whole");
  ASSERT_TRUE(whole);
  auto part = train_alone(half(), folder / "parts", 3);
  ASSERT_TRUE(part);
  const auto state = Json::parse(read_text(folder / "parts/checkpoints/step-00000003/state.json"));
  EXPECT_GT(state["loss_scale"]["factor"].get<double>(), 0);
  EXPECT_EQ(state["loss_scale"]["good_steps"].get<int>(),
            3 - (state["loss_scale"]["factor"] < 65536));
  const auto rest = train_alone(half(), folder / "parts");
  ASSERT_TRUE(rest);
  part->losses.insert(part->losses.end(), rest->losses.begin(), rest->losses.end());
  EXPECT_EQ(part->losses, whole->losses);
  EXPECT_EQ(weights_at(folder / "parts", "step-00000006"),
            weights_at(folder / "whole", "step-00000006"));
}

}  // namespace
}  // namespace dllaunch
