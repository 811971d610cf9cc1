// Single functors on a few numbers. backend_test.cpp compares whole operations with `reference`.
#include "trainer/backends/gpu/kernels/launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "trainer/backends/gpu/kernels/attention_functors.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/norm_functors.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch::gpu {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Kernels, PlacesAndPlainIndexesAreInverse) {
  const Volume v{2, 3, 4, 5, 6};
  std::vector<bool> seen(static_cast<std::size_t>(v.elements()));
  for (std::int64_t i = 0; i < v.elements(); ++i) {
    const Coordinates p = coordinates_of(v, i);
    EXPECT_EQ(v.at(p.row, p.d, p.h, p.w, p.c), i);
    const std::int64_t plain = plain_index(v, i);
    EXPECT_EQ(plain, (((p.row * 6 + p.c) * 3 + p.d) * 4 + p.h) * 5 + p.w);
    seen[static_cast<std::size_t>(plain)] = true;
  }
  EXPECT_EQ(std::ranges::count(seen, true), v.elements());
}

TEST(Kernels, HeadsAndSequencesAreInverse) {
  const HeadShape shape{2, 5, 3, 4, 6};  // samples, tokens, parts, heads, size
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    EXPECT_EQ(shape.in_heads(shape.in_sequence(i)), i);
  }
  // Part 1, sample 1, head 3, token 4, element 5.
  EXPECT_EQ(shape.in_sequence((((1 * 2 + 1) * 4 + 3) * 5 + 4) * 6 + 5),
            (((1 * 5 + 4) * 3 + 1) * 4 + 3) * 6 + 5);
}

TEST(Kernels, ReluLetsNaNPassBothWays) {
  const std::vector<float> x = {-1, 0, 2, nan, -infinity};
  std::vector<float> y(x.size());
  launch(nullptr, 5, ActivationForward<Relu, float>{x.data(), y.data()});
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[2], 2);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(y[4], 0);
  const std::vector<float> dy = {1, 2, 3, 4, 5};
  std::vector<float> dx = {10, 10, 10, 10, 10};
  launch(nullptr, 5, ActivationBackward<Relu, float>{y.data(), dy.data(), dx.data(), true});
  EXPECT_EQ(dx, (std::vector<float>{10, 10, 13, 14, 10}));
}

TEST(Kernels, ConversionsRoundToNearest) {
  const std::vector<float> x = {1.F, 1.00390625F, 1.01171875F, -infinity};
  std::vector<BFloat16> narrow(x.size());
  std::vector<float> back(x.size());
  launch(nullptr, 4, Convert<float, BFloat16>{x.data(), narrow.data(), false});
  launch(nullptr, 4, Convert<BFloat16, float>{narrow.data(), back.data(), false});
  EXPECT_EQ(back, (std::vector<float>{1.F, 1.F, 1.015625F, -infinity})) << "ties go to even";
}

/// Chunks cover any number of pixels, including none, exactly once.
TEST(Kernels, ChunksCoverEveryPixelOnce) {
  for (const std::int64_t pixels : {0, 1, 63, 64, 65, 1000, 100'003, 802'816}) {
    const Chunks chunks = chunks_of(pixels, 3);
    EXPECT_GE(chunks.count, 1);
    EXPECT_EQ(chunks.first(0), 0);
    EXPECT_EQ(chunks.first(chunks.count), pixels);
    for (std::int64_t c = 0; c < chunks.count; ++c) {
      EXPECT_LE(chunks.first(c), chunks.first(c + 1));
    }
  }
}

/// A large mean does not cost the precision of a small variance, in one chunk or many.
TEST(Kernels, MomentsHoldOfNumbersFarFromZero) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0, 0.01);
  for (const std::int64_t pixels : {1, 50, 30'000}) {
    const Chunks chunks = chunks_of(pixels, 2);
    std::vector<float> x(static_cast<std::size_t>(2 * pixels));
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((i % 2 == 0 ? 100 : -3) + normal(random));
    }
    const auto parts = static_cast<std::size_t>(2 * chunks.count);
    std::vector<float> means(parts);
    std::vector<float> squares(parts);
    std::vector<double> moments(4);
    launch(nullptr, 2 * chunks.count,
           ChunkMoments<float>{x.data(), chunks, means.data(), squares.data()});
    launch(nullptr, 2, JoinMoments<double>{means.data(), squares.data(), chunks, moments.data()});
    for (const std::size_t c : {std::size_t{0}, std::size_t{1}}) {
      double sum = 0;
      for (std::size_t i = c; i < x.size(); i += 2) sum += x[i];
      const double mean = sum / static_cast<double>(pixels);
      double square = 0;
      for (std::size_t i = c; i < x.size(); i += 2) square += (x[i] - mean) * (x[i] - mean);
      EXPECT_NEAR(moments[c], mean, 1e-5 * std::abs(mean)) << pixels;
      EXPECT_NEAR(moments[2 + c], square, 1e-3 * square + 1e-9) << pixels;
    }
  }
}

/// Fewer chunks than a block has lanes, as many, and more; chunks that have no pixel count nothing.
TEST(Kernels, SumsOfBlocksAreThoseOfALoop) {
  constexpr std::int64_t channels = 3;
  std::mt19937 random(7);
  std::normal_distribution<float> normal(2, 1);
  for (const std::int64_t count : {1, 2, 255, 256, 257, 1000}) {
    const Chunks chunks{std::max<std::int64_t>(10 * count - 15, 0), channels, count, 10};
    std::vector<float> sums(static_cast<std::size_t>(2 * count * channels));
    for (float& sum : sums) sum = normal(random);
    const auto half = sums.begin() + count * channels;
    std::vector<double> joined(6);
    std::vector<float> dbias = {1, 2, 3};
    std::vector<float> dweight(3);
    launch(
        nullptr, 6,
        JoinSums<double>{sums.data(), chunks, joined.data(), dbias.data(), dweight.data(), true});
    std::vector<double> moments(6);
    launch(nullptr, channels, JoinMoments<double>{sums.data(), &*half, chunks, moments.data()});
    for (std::size_t c = 0; c < 3; ++c) {
      double of_dy = 0;
      double of_dyz = 0;
      double n = 0;
      double mean = 0;
      for (std::int64_t chunk = 0; chunk < count; ++chunk) {
        const auto i = static_cast<std::size_t>(chunk * channels) + c;
        const auto pixels = static_cast<double>(chunks.first(chunk + 1) - chunks.first(chunk));
        of_dy += sums[i];
        of_dyz += sums[i + static_cast<std::size_t>(count * channels)];
        n += pixels;
        mean += sums[i] * pixels;
      }
      EXPECT_NEAR(joined[c], of_dy, 1e-9) << count;
      EXPECT_NEAR(joined[3 + c], of_dyz, 1e-9) << count;
      EXPECT_FLOAT_EQ(dbias[c], static_cast<float>(of_dy) + static_cast<float>(c + 1));
      EXPECT_FLOAT_EQ(dweight[c], static_cast<float>(of_dyz));
      EXPECT_NEAR(moments[c], n > 0 ? mean / n : 0, 1e-12) << count;
    }
  }
}

TEST(Kernels, TheFirstOfEqualsIsTheLargestAndNaNWins) {
  const Volume in{1, 1, 2, 2, 1};
  const Volume out{1, 1, 1, 1, 1};
  const Window window{{1, 2, 2}, {1, 2, 2}, {0, 0, 0}};
  const auto best_of = [&](std::vector<float> x) {
    float y = 0;
    std::uint16_t best = 99;
    launch(nullptr, 1, MaxPoolForward<float>{x.data(), &y, &best, in, out, window});
    return std::pair(y, static_cast<int>(best));
  };
  EXPECT_EQ(best_of({1, 5, 5, 2}), std::pair(5.F, 1));
  EXPECT_EQ(best_of({-3, -2, -2, -9}), std::pair(-2.F, 1));
  EXPECT_EQ(best_of({1, nan, 5, 2}).second, 1);
  EXPECT_EQ(best_of({nan, 1, nan, 2}).second, 2) << "the last NaN";
}

/// The largest window whose places are stored: the last place is 65,535.
TEST(Kernels, TheLastPlaceOfAWindowOfSixteenBitsIsFound) {
  const Volume in{1, 1, 256, 256, 1};
  const Volume out{1, 1, 1, 1, 1};
  const Window window{{1, 256, 256}, {1, 256, 256}, {0, 0, 0}};
  std::vector<float> x(256 * 256);
  x.back() = 1;
  float y = 0;
  std::uint16_t place = 0;
  launch(nullptr, 1, MaxPoolForward<float>{x.data(), &y, &place, in, out, window});
  EXPECT_EQ(place, 65535);
  const float dy = 3;
  std::vector<float> dx(x.size());
  launch(nullptr, in.elements(),
         MaxPoolBackward<float>{&dy, &place, dx.data(), in, out, window, false});
  EXPECT_EQ(dx.back(), 3);
  EXPECT_EQ(std::accumulate(dx.begin(), dx.end(), 0.F), 3);
}

/// Of more elements than 31 or 32 bits count: ResNet-50's first convolution at a batch of 4,096,
/// and twice that.
TEST(Kernels, IndexesOfBillionsOfElementsAreExact) {
  for (const std::int64_t rows : {4096, 8192}) {
    const Grid v = Volume{rows, 1, 112, 112, 64};
    for (const std::int64_t back : {std::int64_t{1}, std::int64_t{64}, v.elements() / 3}) {
      const std::int64_t i = v.elements() - back;
      const Coordinates p = coordinates_of(v, i);
      EXPECT_EQ(v.at(p.row, p.d, p.h, p.w, p.c), i);
      EXPECT_EQ(p.row, i / (112 * 112 * 64));
      EXPECT_EQ(plain_index(v, i), ((p.row * 64 + p.c) * 112 + p.h) * 112 + p.w);
    }
    const std::int64_t pixels = rows * 112 * 112;
    const Chunks chunks = chunks_of(pixels, 64);
    EXPECT_EQ(chunks.first(chunks.count), pixels);
    EXPECT_LT(chunks.each, 1 << 24) << "counted in float";
  }
}

/// Gathering by input equals scattering by output.
TEST(Kernels, WindowsAgreeBothWays) {
  for (std::int64_t extent = 1; extent < 9; ++extent) {
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel) {
      for (std::int64_t stride = 1; stride <= 4; ++stride) {
        for (std::int64_t padding = 0; 2 * padding <= kernel; ++padding) {
          const std::int64_t outputs = (extent + 2 * padding - kernel) / stride + 1;
          if (extent + 2 * padding < kernel) continue;
          for (std::int64_t i = 0; i < extent; ++i) {
            const Span gathered = outputs_of(i, kernel, stride, padding, outputs);
            for (std::int64_t o = 0; o < outputs; ++o) {
              const Span reads = inputs_of(o, kernel, stride, padding, extent);
              EXPECT_EQ(reads.first <= i && i < reads.end, gathered.first <= o && o < gathered.end)
                  << extent << " " << kernel << " " << stride << " " << padding << ": " << i << " "
                  << o;
            }
          }
        }
      }
    }
  }
}

TEST(Kernels, WhatIsNoNumberIsFound) {
  std::vector<float> x(100, 1.F);
  for (const float bad : {nan, infinity, -infinity}) {
    int found = 0;
    launch(nullptr, 100, FindNonFinite<float>{x.data(), &found});
    EXPECT_EQ(found, 0);
    x[57] = bad;
    launch(nullptr, 100, FindNonFinite<float>{x.data(), &found});
    EXPECT_EQ(found, 1);
    x[57] = std::numeric_limits<float>::max();
  }
}

}  // namespace
}  // namespace dllaunch::gpu
