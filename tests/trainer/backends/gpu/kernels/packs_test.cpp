// Packs compute the same bits as single elements.
#include "trainer/backends/gpu/kernels/packs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <vector>

#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
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
}

}  // namespace
}  // namespace dllaunch::gpu
