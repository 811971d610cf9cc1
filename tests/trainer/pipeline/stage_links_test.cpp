#include "trainer/pipeline/stage_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

using testing::Each;
using testing::ElementsAre;

/// A stage that adds 1 to its input forward, and 10 to the gradient backward.
class AddingStage final : public Executable {
 public:
  explicit AddingStage(std::size_t size) : output_(size), gradient_(size) {}

  ForwardResult forward(const Batch& batch, Phase) override {
    std::ranges::transform(batch.images, output_.begin(), [](float value) { return value + 1; });
    return {};
  }
  void read_output(std::span<float> plain) const override {
    std::ranges::copy(output_, plain.begin());
  }
  void set_output_gradient(std::span<const float> plain) override {
    std::ranges::copy(plain, gradient_.begin());
  }
  void backward(double, bool, const ReadyCallback&) override {
    for (float& value : gradient_) value += 10;
  }
  void read_input_gradient(std::span<float> plain) const override {
    std::ranges::copy(gradient_, plain.begin());
  }
  const std::vector<float>& gradient() const { return gradient_; }
  void set_gradient(float to) { std::ranges::fill(gradient_, to); }

  const std::vector<ParameterSlot>& slots() const override { return slots_; }
  DType dtype() const override { return DType::f32; }
  void attach(std::vector<void*>, std::vector<void*>) override {}
  void to_plain(int, const void*, void*) const override {}
  void from_plain(int, const void*, void*) const override {}
  std::vector<double> buffer(int) const override { return {}; }
  void set_buffer(int, std::span<const double>) override {}
  std::string first_non_finite(const Batch&) override { return {}; }
  std::vector<double> logits() const override { return {}; }

 private:
  std::vector<ParameterSlot> slots_;
  std::vector<float> output_;
  std::vector<float> gradient_;
};

constexpr std::size_t batch = 3;
constexpr std::size_t values = 50'000;  // a message that no transport sends eagerly

/// Plays a step, or a validation, in the order of the schedule, and checks what arrives.
void play(StageLinks& links, const StagePlace& place, int micro_batches, bool backward) {
  std::vector<AddingStage> stages(static_cast<std::size_t>(micro_batches),
                                  AddingStage(batch * values));
  links.begin(micro_batches, backward);
  for (const Pass& pass : one_forward_one_backward(place, micro_batches)) {
    AddingStage& stage = stages[static_cast<std::size_t>(pass.micro_batch)];
    const auto number = static_cast<float>(pass.micro_batch);
    if (pass.forward) {
      const std::vector<float> images(batch * values, 100 * number);
      const std::vector<std::int32_t> labels{pass.micro_batch, 1, 2};
      Batch now{.images = images, .labels = labels, .count = 2, .random = 77};
      if (!place.is_first()) now = links.receive_batch();
      EXPECT_EQ(now.count, 2);
      EXPECT_EQ(now.random, 77u);
      EXPECT_THAT(now.labels, ElementsAre(pass.micro_batch, 1, 2));
      EXPECT_EQ(now.images.front(), 100 * number + static_cast<float>(place.stage));
      EXPECT_EQ(now.images.back(), now.images.front());
      stage.forward(now, Phase::train);
      if (!place.is_last()) links.send_batch(now, stage);
    } else if (backward) {
      stage.set_gradient(number);
      if (!place.is_last()) links.receive_gradient(stage);
      const int behind = place.stages - 1 - place.stage;
      EXPECT_THAT(stage.gradient(), Each(number + 10 * static_cast<float>(behind)));
      stage.backward(1, false, [](int) {});
      if (!place.is_first()) links.send_gradient(stage);
    }
  }
}

TEST(StageLinks, CarryEveryMicroBatchForwardAndBack) {
  for (const bool tcp : {false, true}) {
    const auto peers = tcp ? all_tcp_peers() : all_peers();
    const StagePlace place{.stages = peers->size(), .stage = peers->rank()};
    Activity activity;
    StageLinks links({.place = place, .peers = peers.get(), .activity = &activity},
                     {.batch = batch, .input = values, .output = values, .labels = 1});
    for (const int micro_batches : {4, 1, 7}) play(links, place, micro_batches, true);
    play(links, place, 5, false);
    play(links, place, 2, true);
    EXPECT_EQ(activity.beacon().waiting_for.load(), 0u);
  }
}

}  // namespace
}  // namespace dllaunch
