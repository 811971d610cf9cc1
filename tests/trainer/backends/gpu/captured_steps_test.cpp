// Replayed steps give the same bits as eager ones. The fake device keeps what a real one would:
// by-value arguments as they were at capture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>

#include "tests/support/host_gpu/host_math.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/gpu/device_arena.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "trainer/backends/gpu/step/gpu_executable.hpp"

namespace dllaunch::gpu {
namespace {

constexpr int batch = 4;

/// A trained graph with arenas on the device.
class OnDevice {
 public:
  OnDevice(const Graph& graph, const CompileOptions& options) : math_(make_host_math()) {
    auto made = compile_for_gpu("host_gpu", graph, options, *math_);
    if (!made) std::abort();
    executable_ = *std::move(made);
    const auto& slots = executable_->slots();
    weights_ = std::make_unique<DeviceArena>(slots);
    gradients_ = std::make_unique<DeviceArena>(slots);
    executable_->attach(weights_->pieces(), gradients_->pieces());
    set_weights(random_weights(graph));
  }
  ~OnDevice() { executable_.reset(); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  Executable* operator->() { return executable_.get(); }

  void set_weights(const Tensors& values) {
    const auto& slots = executable_->slots();
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const auto& plain = values[static_cast<std::size_t>(slots[s].parameter)];
      const std::vector<float> rounded(plain.begin(), plain.end());
      executable_->from_plain(static_cast<int>(s), rounded.data(), weights_->pieces()[s]);
    }
  }
  std::vector<float> gradient(int slot) const {
    const auto s = static_cast<std::size_t>(slot);
    std::vector<float> plain(executable_->slots()[s].elements);
    executable_->to_plain(slot, gradients_->pieces()[s], plain.data());
    return plain;
  }
  std::vector<float> gradients() const {
    std::vector<float> all;
    for (int slot = 0; slot < static_cast<int>(executable_->slots().size()); ++slot) {
      const std::vector<float> plain = gradient(slot);
      all.insert(all.end(), plain.begin(), plain.end());
    }
    return all;
  }

 private:
  std::unique_ptr<MathLibrary> math_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<DeviceArena> weights_;
  std::unique_ptr<DeviceArena> gradients_;
};

struct Step {
  double loss = 0;
  int correct = 0;
  std::vector<float> gradients = {};
  std::vector<std::vector<double>> buffers = {};
  bool operator==(const Step&) const = default;
};

/// Runs steps with different images, labels, dropout masks and weights: one with a partial batch,
/// some with two micro-batches, two with another scale, and evaluations in between.
std::vector<Step> train(const Graph& graph, const CompileOptions& options, bool records) {
  ::setenv("DLLAUNCH_GPU_GRAPHS", records ? "on" : "off", 1);
  OnDevice trained(graph, options);
  ::unsetenv("DLLAUNCH_GPU_GRAPHS");
  std::vector<Step> steps;
  for (unsigned number = 0; number < 9; ++number) {
    const Images images(graph, batch, number);
    Tensors weights = random_weights(graph);
    for (auto& tensor : weights) {
      for (double& value : tensor) value *= 1 + 0.01 * number;
    }
    trained.set_weights(weights);
    Batch given = images.batch(number == 5 ? batch - 1 : batch);
    given.random = 100 + number;
    const double scale = number == 4 || number == 7 ? 0.25 : 0.5;
    Step step;
    const auto micro_batch = [&](bool accumulate) {
      const ForwardResult result = trained->forward(given, Phase::train);
      step.loss += result.loss_sum;
      step.correct += result.correct;
      trained->backward(scale, accumulate, [](int) {});
    };
    micro_batch(false);
    if (number == 3 || number == 6 || number == 8) micro_batch(true);
    step.gradients = trained.gradients();
    step.loss += trained->forward(given, Phase::evaluate).loss_sum;
    for (std::size_t b = 0; b < graph.buffers.size(); ++b) {
      step.buffers.push_back(trained->buffer(static_cast<int>(b)));
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

class CapturedSteps : public testing::TestWithParam<OperationCase> {};

TEST_P(CapturedSteps, GiveTheBitsOfEagerOnes) {
  const Graph graph = GetParam().graph();
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const CompileOptions options{.batch = batch, .precision = precision};
    const std::size_t replays = host_gpus().replays;
    const auto one_by_one = train(graph, options, false);
    EXPECT_EQ(host_gpus().replays, replays);
    EXPECT_EQ(train(graph, options, true), one_by_one);
    EXPECT_GE(host_gpus().replays, replays + 16);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, CapturedSteps, testing::ValuesIn(operation_cases()),
                         [](const auto& one) { return one.param.name; });

Graph named(const std::string& name) {
  for (const OperationCase& one : operation_cases()) {
    if (one.name == name) return one.graph();
  }
  std::abort();
}

/// A step launches two graphs, and outside them only the kernel that unpacks the images.
TEST(CapturedTraining, LaunchesTwoGraphs) {
  const Graph graph = named("block_with_projection");
  OnDevice trained(graph, {.batch = batch});
  const Images images(graph, batch);
  for (int step = 0; step < 4; ++step) {
    const std::size_t kernels = host_gpus().kernels;
    const std::size_t replays = host_gpus().replays;
    trained->forward(images.batch(), Phase::train);
    trained->backward(1, false, [](int) {});
    if (step < 2) continue;
    EXPECT_EQ(host_gpus().replays, replays + 2) << "forward and backward";
    EXPECT_EQ(host_gpus().kernels, kernels + 1) << "images to channels last";
  }
}

/// A bucket's reduction starts exactly when its gradients are final, not when all are.
TEST(CapturedTraining, ReportsGradientsWhereBucketsEnd) {
  const Graph graph = named("block_with_projection");
  ::setenv("DLLAUNCH_GPU_GRAPHS", "off", 1);
  OnDevice one_by_one(graph, {.batch = batch});
  ::unsetenv("DLLAUNCH_GPU_GRAPHS");
  OnDevice trained(graph, {.batch = batch});
  const int slots = static_cast<int>(trained->slots().size());
  ASSERT_GT(slots, 4);
  std::vector<int> all(static_cast<std::size_t>(slots));
  std::iota(all.begin(), all.end(), 0);
  for (unsigned step = 0; step < 12; ++step) {
    // The bucket tuner changes bucket sizes between steps.
    const int first_bucket = step % 3 == 2 ? 3 : 1;
    trained->hold_ready_until(std::vector{first_bucket, slots - 1});
    const Images images(graph, batch, step);
    one_by_one->forward(images.batch(), Phase::train);
    one_by_one->backward(1, false, [](int) {});
    trained->forward(images.batch(), Phase::train);
    const std::size_t replays = host_gpus().replays;
    std::vector<int> ready;
    std::vector<std::size_t> replayed;
    trained->backward(1, false, [&](int slot) {
      if (slot == no_slot) return;
      ready.push_back(slot);
      replayed.push_back(host_gpus().replays - replays);
      EXPECT_EQ(trained.gradient(slot), one_by_one.gradient(slot)) << "final when it is reported";
    });
    EXPECT_EQ(ready, all);
    if (step < 6) continue;
    EXPECT_EQ(replayed[1], 1U) << "the second piece was not launched yet";
    EXPECT_EQ(replayed.back(), 2U);
  }
}

/// If the GPU or a library refuses capture or replay, the run continues with the same bits.
TEST(CapturedTraining, ContinuesWithoutCapture) {
  const Graph graph = named("block_with_projection");
  const CompileOptions options{.batch = batch};
  const auto wanted = train(graph, options, false);
  for (bool* refusal : {&host_gpus().refuses_capture, &host_gpus().refuses_replay,
                        &host_gpus().refuses_library_calls}) {
    *refusal = true;
    testing::internal::CaptureStderr();
    EXPECT_EQ(train(graph, options, true), wanted);
    const std::string said = testing::internal::GetCapturedStderr();
    *refusal = false;
    EXPECT_THAT(said, testing::StartsWith("warning: host graph capture failed ("));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  }
}

/// Statistics that the host sums over ranks, and arenas on the host, rule out capture.
TEST(CapturedTraining, IsOffWhenTheHostTakesPart) {
  const Graph graph = named("batch_norm_relu");
  const Images images(graph, batch);
  const std::size_t replays = host_gpus().replays;
  OnDevice summed(graph, {.batch = batch, .sum_over_ranks = [](std::span<double>) {}});
  Compiled on_host(backend_named("host_gpu"), graph, {.batch = batch});
  on_host.set_weights(random_weights(graph));
  for (int step = 0; step < 4; ++step) {
    summed->forward(images.batch(), Phase::train);
    summed->backward(1, false, [](int) {});
    on_host->forward(images.batch(), Phase::train);
    on_host->backward(1, false, [](int) {});
  }
  EXPECT_EQ(host_gpus().replays, replays);
}

/// Only the graph itself takes GPU memory, as on a real GPU.
TEST(CapturedTraining, AllocatesNothingAfterTheSecondStep) {
  const Graph graph = named("block_with_projection");
  OnDevice trained(graph, {.batch = batch});
  const Images images(graph, batch);
  std::size_t before = 0;
  for (int step = 0; step < 5; ++step) {
    if (step == 2) before = host_gpus().allocations;
    trained->forward(images.batch(), Phase::train);
    trained->backward(1, false, [](int) {});
  }
  EXPECT_EQ(host_gpus().allocations, before);
}

/// After a non-finite loss, also if earlier steps were replayed.
TEST(CapturedTraining, StillNamesTheFirstNonFiniteNode) {
  const Graph graph = named("block_with_projection");
  OnDevice trained(graph, {.batch = batch});
  Images images(graph, batch);
  for (int step = 0; step < 3; ++step) {
    trained->forward(images.batch(), Phase::train);
    trained->backward(1, false, [](int) {});
  }
  EXPECT_EQ(trained->first_non_finite(images.batch()), "");
  images.pixels[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(trained->forward(images.batch(), Phase::train).loss_sum));
  EXPECT_EQ(trained->first_non_finite(images.batch()), "input");
}

}  // namespace
}  // namespace dllaunch::gpu
