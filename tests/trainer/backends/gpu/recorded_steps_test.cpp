// Steps whose kernels are played back give the bits of steps whose kernels are called one by one:
// the fake device keeps what a real one would, arguments by value as they were.
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

/// Steps with other images, labels, dropouts and weights each, one of them not full, one of two
/// micro-batches, two with another scale, evaluations between them.
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

class RecordedSteps : public testing::TestWithParam<OperationCase> {};

TEST_P(RecordedSteps, GiveTheBitsOfOthers) {
  const Graph graph = GetParam().graph();
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const CompileOptions options{.batch = batch, .precision = precision};
    const std::size_t plays = host_gpus().plays;
    const auto one_by_one = train(graph, options, false);
    EXPECT_EQ(host_gpus().plays, plays);
    EXPECT_EQ(train(graph, options, true), one_by_one);
    EXPECT_GE(host_gpus().plays, plays + 16);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, RecordedSteps, testing::ValuesIn(operation_cases()),
                         [](const auto& one) { return one.param.name; });

Graph named(const std::string& name) {
  for (const OperationCase& one : operation_cases()) {
    if (one.name == name) return one.graph();
  }
  std::abort();
}

/// What the host still gives one by one in a step: images, labels, masks, and the losses back.
TEST(RecordedTraining, CallTwoThings) {
  const Graph graph = named("block_with_projection");
  OnDevice trained(graph, {.batch = batch});
  const Images images(graph, batch);
  for (int step = 0; step < 4; ++step) {
    const std::size_t kernels = host_gpus().kernels;
    const std::size_t plays = host_gpus().plays;
    trained->forward(images.batch(), Phase::train);
    trained->backward(1, false, [](int) {});
    if (step < 2) continue;
    EXPECT_EQ(host_gpus().plays, plays + 2) << "forward and backward";
    EXPECT_EQ(host_gpus().kernels, kernels + 1) << "images to channels last";
  }
}

/// A bucket's reduction starts as soon as its gradients are final, not when all are, and not
/// before.
TEST(RecordedTraining, TellOfGradientsWhereBucketsEnd) {
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
    // Whoever looks for the best size of buckets has others in every step.
    const int first_bucket = step % 3 == 2 ? 3 : 1;
    trained->hold_ready_until(std::vector{first_bucket, slots - 1});
    const Images images(graph, batch, step);
    one_by_one->forward(images.batch(), Phase::train);
    one_by_one->backward(1, false, [](int) {});
    trained->forward(images.batch(), Phase::train);
    const std::size_t plays = host_gpus().plays;
    std::vector<int> ready;
    std::vector<std::size_t> played;
    trained->backward(1, false, [&](int slot) {
      if (slot == no_slot) return;
      ready.push_back(slot);
      played.push_back(host_gpus().plays - plays);
      EXPECT_EQ(trained.gradient(slot), one_by_one.gradient(slot)) << "final when it is told";
    });
    EXPECT_EQ(ready, all);
    if (step < 6) continue;
    EXPECT_EQ(played[1], 1U) << "the second piece was not given yet";
    EXPECT_EQ(played.back(), 2U);
  }
}

/// Whatever a real GPU or its libraries refuse: the run goes on, with the same bits.
TEST(RecordedTraining, GoesOnWhereNothingIsRecorded) {
  const Graph graph = named("block_with_projection");
  const CompileOptions options{.batch = batch};
  const auto wanted = train(graph, options, false);
  for (bool* refusal : {&host_gpus().refuses_recording, &host_gpus().refuses_playing,
                        &host_gpus().refuses_library_calls}) {
    *refusal = true;
    testing::internal::CaptureStderr();
    EXPECT_EQ(train(graph, options, true), wanted);
    const std::string said = testing::internal::GetCapturedStderr();
    *refusal = false;
    EXPECT_THAT(said, testing::StartsWith("warning: host does not record kernels ("));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  }
}

/// A rank whose part of the statistics is the host's to sum, or whose arenas are on the host.
TEST(RecordedTraining, AreNotMadeWhereTheHostTakesPart) {
  const Graph graph = named("batch_norm_relu");
  const Images images(graph, batch);
  const std::size_t plays = host_gpus().plays;
  OnDevice summed(graph, {.batch = batch, .sum_over_ranks = [](std::span<double>) {}});
  Compiled on_host(backend_named("host_gpu"), graph, {.batch = batch});
  on_host.set_weights(random_weights(graph));
  for (int step = 0; step < 4; ++step) {
    summed->forward(images.batch(), Phase::train);
    summed->backward(1, false, [](int) {});
    on_host->forward(images.batch(), Phase::train);
    on_host->backward(1, false, [](int) {});
  }
  EXPECT_EQ(host_gpus().plays, plays);
}

/// A recording takes some of the GPU's memory, as those of real ones do; nothing else does.
TEST(RecordedTraining, AllocateNothingAfterTheSecond) {
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

/// After a loss that is no number, also behind steps that were recorded.
TEST(RecordedTraining, StillNameTheFirstNodeThatGaveNoNumber) {
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
