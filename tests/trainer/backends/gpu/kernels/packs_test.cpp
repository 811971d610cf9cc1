// Packs compute the same bits as single elements.
#include "trainer/backends/gpu/kernels/packs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <random>
#include <vector>

#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
#include "trainer/backends/gpu/kernels/optimizer_launches.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch::gpu {
namespace {

/// An array that begins `shift` elements behind an aligned address.
template <typename T>
class Shifted {
 public:
  Shifted(std::size_t count, std::size_t shift, unsigned seed) : shift_(shift), count_(count) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    lines_.resize((count + shift) / 16 + 1);
    for (std::size_t i = 0; i < count; ++i) set(data()[i], normal(random));
  }
  T* data() { return reinterpret_cast<T*>(lines_.data()) + shift_; }
  std::vector<float> values() {
    std::vector<float> all(count_);
    for (std::size_t i = 0; i < count_; ++i) all[i] = get(data()[i]);
    return all;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[16 * sizeof(float)];
  };
  std::vector<Line> lines_;
  std::size_t shift_;
  std::size_t count_;
};

template <typename T>
class Packs : public testing::Test {};
using Types = testing::Types<float, BFloat16, Float16>;
TYPED_TEST_SUITE(Packs, Types);

/// The functor is in packs at shift 0 alone.
template <typename Functor>
void expect_packs(const Functor& functor, std::size_t shift) {
  EXPECT_EQ(functor.in_packs(), shift == 0);
}

TYPED_TEST(Packs, GiveWhatSingleElementsGive) {
  using T = TypeParam;
  for (const std::size_t count : {1U, 7U, 8U, 1003U}) {
    std::vector<std::vector<float>> all;
    for (const std::size_t shift : {0U, 1U}) {
      Shifted<T> a(count, shift, 1);
      Shifted<T> b(count, shift, 2);
      Shifted<T> sum(count, shift, 3);
      Shifted<T> grad(count, shift, 4);
      Shifted<float> wide(count, shift, 5);
      const SumOfTwo<T> add{a.data(), b.data(), sum.data()};
      const ActivationBackward<Relu, T> relu{a.data(), b.data(), grad.data(), true};
      const Convert<T, float> convert{sum.data(), wide.data(), true};
      expect_packs(add, shift);
      expect_packs(relu, shift);
      expect_packs(convert, shift);
      launch(nullptr, static_cast<std::int64_t>(count), add);
      launch(nullptr, static_cast<std::int64_t>(count), relu);
      launch(nullptr, static_cast<std::int64_t>(count), convert);
      std::vector<float> results = sum.values();
      for (const auto& more : {grad.values(), wide.values()}) {
        std::ranges::copy(more, std::back_inserter(results));
      }
      all.push_back(results);
    }
    EXPECT_EQ(all[0], all[1]) << count;
  }
}

/// 16 channels in packs, or one element behind an aligned address; 30 pixels, of which 20 present.
TYPED_TEST(Packs, OfANormGiveWhatSingleElementsGive) {
  using T = TypeParam;
  constexpr std::int64_t channels = 16;
  constexpr std::size_t all = 30 * channels;
  std::vector<std::vector<float>> results;
  for (const std::size_t shift : {0U, 1U}) {
    Shifted<T> x(all, shift, 1);
    Shifted<T> y(all, shift, 2);
    Shifted<T> dy(all, shift, 3);
    Shifted<T> other(all, shift, 4);
    Shifted<T> dx(all, shift, 5);
    Shifted<float> of(4 * channels, shift, 6);
    Shifted<float> means(2 * channels, shift, 7);
    Shifted<float> sums(2 * 2 * channels, shift, 8);
    Shifted<float> moments(2 * 2 * channels, shift, 9);
    float* const weights = of.data();
    const NormChannel channel{weights, weights + channels, weights + 2 * channels,
                              weights + 3 * channels};
    const Chunks chunks{20, channels, 2, 10};
    const NormForward<T> forward{x.data(), other.data(), y.data(), channel, channels, true};
    const ChunkMoments<T> moments_of{x.data(), chunks, moments.data(),
                                     moments.data() + 2 * channels};
    const MaskedGrad<T> masked{dy.data(), y.data()};
    const ChunkGradSums<T> grads{masked, x.data(), channel, chunks, sums.data()};
    const NormBackward<T> backward{masked,        x.data(),  channel,      means.data(), channels,
                                   20 * channels, dx.data(), other.data(), true,         true};
    expect_packs(forward, shift);
    expect_packs(moments_of, shift);
    expect_packs(grads, shift);
    expect_packs(backward, shift);
    launch(nullptr, all, forward);
    launch(nullptr, 2 * channels, moments_of);
    launch(nullptr, 2 * channels, grads);
    launch(nullptr, all, backward);
    std::vector<float> mine = moments.values();
    for (const auto& more : {y.values(), sums.values(), dx.values(), other.values()}) {
      std::ranges::copy(more, std::back_inserter(mine));
    }
    results.push_back(mine);
  }
  EXPECT_EQ(results[0], results[1]);
}

/// Kernels of a layer on 16 channels: y and dx.
template <typename T, typename Kind>
std::vector<std::vector<float>> pooled(const Kind& kind, const Volume& in, const Volume& out,
                                       std::size_t shift) {
  const auto inputs = static_cast<std::size_t>(in.elements());
  const auto outputs = static_cast<std::size_t>(out.elements());
  Shifted<T> x(inputs, shift, 1);
  Shifted<T> y(outputs, shift, 2);
  Shifted<T> dy(outputs, shift, 3);
  Shifted<T> dx(inputs, shift, 4);
  Shifted<BFloat16> places(outputs, shift, 5);
  const View<T> view{.in = in,
                     .out = out,
                     .x = x.data(),
                     .y = y.data(),
                     .dy = dy.data(),
                     .dx = dx.data(),
                     .add = true,
                     .argmax = reinterpret_cast<std::uint16_t*>(places.data())};
  const auto forward = LayerKernels<Kind, T>::forward(kind, view);
  const auto backward = LayerKernels<Kind, T>::backward(kind, view);
  expect_packs(forward, shift);
  expect_packs(backward, shift);
  launch(nullptr, out.elements(), forward);
  launch(nullptr, in.elements(), backward);
  return {y.values(), dx.values()};
}

TYPED_TEST(Packs, OfPoolingGiveWhatSingleElementsGive) {
  using T = TypeParam;
  const auto expect_same = [](const auto& kind, const Volume& in, const Volume& out) {
    EXPECT_EQ(pooled<T>(kind, in, out, 0), pooled<T>(kind, in, out, 1));
  };
  const Volume in{2, 1, 7, 6, 16};
  expect_same(MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}, in, {2, 1, 4, 3, 16});
  expect_same(MaxPool3d{.kernel = {2, 2, 2}, .stride = {1, 2, 2}}, {2, 3, 4, 4, 16},
              {2, 2, 2, 2, 16});
  expect_same(AvgPool2d{.kernel = 3, .stride = 2}, in, {2, 1, 3, 2, 16});
  expect_same(GlobalAvgPool{}, in, {2, 1, 1, 1, 16});
  expect_same(ZeroPad2d{.pixels = 2}, in, {2, 1, 11, 10, 16});
}

/// Three slots, the last element left over: weights, gradients and states after one step.
std::vector<std::vector<float>> updated(const OptimizerEntry& optimizer, std::size_t shift) {
  constexpr std::size_t count = 1005;
  OptimizerOptions options = optimizer.defaults;
  options.momentum = 0.9;
  options.centered = true;
  options.weight_decay = 0.01;
  const std::size_t states = optimizer.states(options).size();
  std::vector<Shifted<float>> arrays;
  for (unsigned i = 0; i < 2 + states; ++i) arrays.emplace_back(count, shift, i);
  for (std::size_t i = 2; i < arrays.size(); ++i) {  // moments
    for (std::size_t e = 0; e < count; ++e) arrays[i].data()[e] = std::abs(arrays[i].data()[e]);
  }
  const auto state = [&](std::size_t i) { return i < states ? arrays[2 + i].data() : nullptr; };
  const OptimizerLaunches& launches = *find_optimizer_launches(optimizer.name);
  const std::vector<std::int64_t> offsets = {0, 16, 512, count};
  UpdatedPart part{.count = count,
                   .elements = {arrays[0].data(), arrays[1].data(), state(0), state(1), state(2)},
                   .table = {offsets.data(), 3, 0}};
  const StepInfo now{.lr = 0.05, .step = 2, .epoch = 11, .previous_lr = 0.1};
  std::vector<std::byte> slots;
  if (launches.slots != nullptr) {
    const std::vector<SlotNorms> norms = {{true, 1, 1}, {false, 2, 3}, {false, 5, 4}};
    slots = launches.slots(options, now, norms);
    part.slots = slots.data();
  }
  if (launches.direct != nullptr) launches.direct(options, now, part);
  launches.update(options, now, part);
  std::vector<std::vector<float>> results;
  for (Shifted<float>& array : arrays) results.push_back(array.values());
  return results;
}

TEST(OptimizerPacks, GiveWhatSingleElementsGive) {
  for (const OptimizerEntry& optimizer : optimizers()) {
    EXPECT_EQ(updated(optimizer, 0), updated(optimizer, 1)) << optimizer.name;
  }
}

TEST(OptimizerPacks, AreOfAlignedElementsOfOneSlot) {
  Shifted<float> x(64, 0, 1);
  const auto at = [&](int weights, int state) {
    return Elements<float>{x.data() + weights, x.data(), x.data() + state, nullptr, nullptr};
  };
  using Step = AdamStep<float>;
  EXPECT_TRUE((UpdateElements<Step>{at(0, 4), {}}.in_packs()));
  EXPECT_FALSE((UpdateElements<Step>{at(1, 4), {}}.in_packs()));
  EXPECT_FALSE((UpdateElements<Step>{at(0, 2), {}}.in_packs()));
  using BySlot = UpdateBySlot<Lamb::Step<float>, Lamb::OfSlot<float>, Writes::weights>;
  EXPECT_TRUE((BySlot{at(0, 4), {}, {nullptr, 1, 64}, nullptr}.in_packs()));
  EXPECT_FALSE((BySlot{at(0, 4), {}, {nullptr, 1, 2}, nullptr}.in_packs()));
}

/// Packs of channels would cross pixels.
TYPED_TEST(Packs, AreNotForChannelsThatTheyDoNotDivide) {
  using T = TypeParam;
  Shifted<T> x(64, 0, 1);
  Shifted<float> of(64, 0, 2);
  const NormChannel channel{of.data(), of.data(), of.data(), of.data()};
  const auto forward = [&](std::int64_t channels) {
    return NormForward<T>{x.data(), nullptr, x.data(), channel, channels, false};
  };
  EXPECT_TRUE(forward(8).in_packs());
  EXPECT_FALSE(forward(6).in_packs());
  EXPECT_FALSE((AddBias<T>{x.data(), of.data(), 6}).in_packs());
  const auto pool = [&](std::int64_t channels) {
    return GlobalAvgPoolForward<T>{x.data(), x.data(), Volume{1, 1, 1, 1, channels}};
  };
  EXPECT_TRUE(pool(8).in_packs());
  EXPECT_FALSE(pool(6).in_packs());
}

}  // namespace
}  // namespace dllaunch::gpu
