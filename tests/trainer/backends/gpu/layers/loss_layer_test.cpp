// Compares every loss of the table on the device with the host.
#include "trainer/backends/gpu/layers/loss_layer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "trainer/losses/loss.hpp"

namespace dllaunch::gpu {
namespace {

constexpr int batch = 7;
constexpr std::int64_t width = 5;
constexpr std::size_t all = 35;

struct Answer {
  ForwardResult result;
  std::vector<double> grads;  // [batch, width]
};

std::vector<float> random_outputs(std::int64_t of_row = width) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> outputs(static_cast<std::size_t>(batch * of_row));
  for (float& output : outputs) output = normal(random);
  return outputs;
}

Answer on_host(const LossChoice& choice, const Batch& of, const std::vector<float>& outputs) {
  const std::size_t present = outputs.size() / batch * static_cast<std::size_t>(of.count);
  Answer answer{.result = {}, .grads = std::vector<double>(outputs.size())};
  const std::vector<double> doubles(outputs.begin(), outputs.end());
  answer.result = evaluate_loss(choice, of, std::span(doubles).first(present),
                                std::span(answer.grads).first(present));
  return answer;
}

/// With a scale of one half.
template <typename T>
Answer on_device(const LossChoice& choice, const Batch& of, const std::vector<float>& outputs) {
  const std::size_t count = outputs.size();
  DeviceMemory memory;
  const int there = memory.add(count * sizeof(float));
  const int grads = memory.add(count * sizeof(T));
  LossLayer layer(choice, batch, static_cast<std::int64_t>(count) / batch, memory);
  memory.place();
  EXPECT_EQ(memory.allocate(), gpu_success);
  EXPECT_EQ(gpu_copy(memory.at<float>(there), outputs.data(), count * sizeof(float)), gpu_success);
  layer.set_batch(nullptr, memory.at<float>(there), of);
  layer.compute(nullptr);
  Answer answer{.result = layer.result(nullptr), .grads = {}};
  layer.set_scale(nullptr, 0.5);
  layer.backward(nullptr, memory.at<T>(grads));
  std::vector<T> here(count);
  EXPECT_EQ(gpu_copy(here.data(), memory.at<T>(grads), count * sizeof(T)), gpu_success);
  for (const T& grad : here) answer.grads.push_back(2 * get(grad));
  return answer;
}

template <typename T>
void expect_same(const LossChoice& choice, const Batch& of, const std::vector<float>& outputs,
                 double tolerance) {
  const Answer wanted = on_host(choice, of, outputs);
  const Answer seen = on_device<T>(choice, of, outputs);
  EXPECT_NEAR(seen.result.loss_sum, wanted.result.loss_sum, 1e-6 * wanted.result.loss_sum);
  EXPECT_EQ(seen.result.correct, wanted.result.correct);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_NEAR(seen.grads[i], wanted.grads[i],
                tolerance * std::max(0.1, std::abs(wanted.grads[i])))
        << i;
  }
}

/// For every loss, smoothing and kind of target.
void expect_same_of_all(const std::vector<float>& outputs, std::vector<std::int32_t> labels) {
  std::vector<float> sets(outputs.size());
  for (std::size_t i = 0; i < sets.size(); ++i) sets[i] = outputs[i] > 0 || i == 9 ? 1 : 0;
  for (const LossEntry& loss : losses()) {
    for (const double smoothing : {0.0, 0.1}) {
      if (smoothing > 0 && !loss.smooths) continue;
      const LossChoice choice{.name = std::string(loss.name), .label_smoothing = smoothing};
      for (const TargetKind kind : loss.targets) {
        for (const int present : {batch, 3, 0}) {
          SCOPED_TRACE(testing::Message() << loss.name << ' ' << smoothing << ' ' << present);
          Batch of{.images = {}, .labels = labels, .count = present};
          if (kind != TargetKind::class_index) of.targets = sets;
          expect_same<float>(choice, of, outputs, 2e-6);
          expect_same<BFloat16>(choice, of, outputs, 8e-3);
          expect_same<Float16>(choice, of, outputs, 1e-3);
        }
      }
    }
  }
}

TEST(LossLayer, GivesWhatTheHostGives) {
  expect_same_of_all(random_outputs(), {0, 4, 2, 1, 3, 3, 0});
}

/// Every thread of a block has several outputs, or some have none.
TEST(LossLayer, GivesWhatTheHostGivesForManyClasses) {
  expect_same_of_all(random_outputs(1003), {0, 1002, 255, 256, 700, 3, 511});
  expect_same_of_all(random_outputs(257), {0, 256, 255, 1, 128, 3, 200});
}

/// Of equal outputs the first is taken, whichever threads have them.
TEST(LossLayer, ARowIsCorrectIfNoThreadContradicts) {
  constexpr std::int32_t of_row = 600;
  const auto correct = [](std::int32_t label, std::initializer_list<std::size_t> largest,
                          float most) {
    std::vector<float> outputs(std::size_t{batch} * of_row, -1.F);
    for (const std::size_t k : largest) outputs[k] = most;
    const std::vector<std::int32_t> labels(batch, label);
    const Batch of{.images = {}, .labels = labels, .count = 1};
    const Answer wanted = on_host({}, of, outputs);
    const Answer seen = on_device<float>({}, of, outputs);
    EXPECT_EQ(seen.result.correct, wanted.result.correct);
    return seen.result.correct;
  };
  EXPECT_EQ(correct(300, {300}, 2), 1);
  EXPECT_EQ(correct(300, {301}, 2), 0);
  EXPECT_EQ(correct(300, {300, 301, 556, 599}, 2), 1);
  EXPECT_EQ(correct(300, {299, 300}, 2), 0);
  EXPECT_EQ(correct(300, {44, 300}, 2), 0) << "the same thread as the label's";
  EXPECT_EQ(correct(300, {300, 599}, std::nanf("")), 0);
  EXPECT_EQ(correct(300, {300}, std::numeric_limits<float>::infinity()), 0);
}

/// Absent rows have zero gradients, not stale ones.
TEST(LossLayer, AbsentRowsHaveNoGrad) {
  const std::vector<std::int32_t> labels(batch, 1);
  const Answer seen =
      on_device<float>({}, {.images = {}, .labels = labels, .count = 2}, random_outputs());
  for (std::size_t i = 2 * width; i < all; ++i) EXPECT_EQ(seen.grads[i], 0) << i;
  EXPECT_NE(seen.grads[0], 0);
}

TEST(LossLayer, PassesNaNAndInfinityOn) {
  const std::vector<std::int32_t> labels(batch, 1);
  constexpr float endless = std::numeric_limits<float>::infinity();
  for (const LossEntry& loss : losses()) {
    for (const float bad : {std::nanf(""), endless}) {
      for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
        SCOPED_TRACE(testing::Message() << loss.name << ' ' << bad << ' ' << at);
        std::vector<float> outputs = random_outputs();
        outputs[at] = bad;
        const LossChoice choice{.name = std::string(loss.name)};
        const Batch of{.images = {}, .labels = labels, .count = 1};
        const Answer wanted = on_host(choice, of, outputs);
        const Answer seen = on_device<float>(choice, of, outputs);
        EXPECT_EQ(std::isfinite(seen.result.loss_sum), std::isfinite(wanted.result.loss_sum));
        EXPECT_EQ(seen.result.correct, wanted.result.correct);
      }
    }
  }
}

/// Large outputs are shifted before exp(): none overflows.
TEST(LossLayer, SurvivesLargeOutputs) {
  std::vector<float> outputs(all);
  outputs[0] = 5000;
  outputs[1] = 4000;
  const std::vector<std::int32_t> labels(batch, 1);
  const Answer seen = on_device<float>({}, {.images = {}, .labels = labels, .count = 1}, outputs);
  EXPECT_EQ(seen.result.loss_sum, 1000);
  EXPECT_EQ(seen.grads[0], 1);
  EXPECT_EQ(seen.grads[1], -1);
}

}  // namespace
}  // namespace dllaunch::gpu
