// Compression, gradient lag and scattered sums of the reducer, compared with plain loops. Runs on
// 1, 2, 3, 4 and 7 real ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/gradients/gradient_reducer.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

/// Gradient of element i on a rank: an arbitrary but reproducible number.
float gradient(int rank, int step, std::size_t i) {
  std::minstd_rand random(static_cast<unsigned>(rank * 7919 + step * 104729) +
                          static_cast<unsigned>(i) * 31U + 1U);
  random.discard(3);
  const auto x = static_cast<float>(random() % 2000001) * 1e-6F - 1;
  return std::ldexp(x, static_cast<int>(i % 24) - 16);
}

/// A layout, its gradients and a reducer over them, in the communicator's fastest memory.
struct Scene {
  Scene(std::vector<std::size_t> elements, const ReducerOptions& options,
        std::size_t bucket_bytes = 4096, std::unique_ptr<Communicator> over = all_ranks())
      : communicator(std::move(over)),
        unit(options.scatter ? unit_for(communicator->size()) : 1),
        layout(lay_out(DType::f32, elements, unit)),
        memory(communicator->allocate(layout.bytes())),
        buckets(plan_buckets(layout, bucket_bytes, 256, unit)),
        reducer(*communicator, layout, memory, buckets, options) {}

  int rank() const { return communicator->rank(); }
  int ranks() const { return communicator->size(); }
  float* values() { return reinterpret_cast<float*>(memory.data()); }

  /// One step in which element i of the arena has the gradient `value(i)`.
  template <typename Value>
  ReducerStats step(const Value& value) {
    reducer.begin();
    for (std::size_t slot = 0; slot < layout.offset.size(); ++slot) {
      const std::size_t begin = layout.offset[slot];
      for (std::size_t i = 0; i < layout.elements[slot]; ++i)
        values()[begin + i] = value(begin + i);
      reducer.ready(static_cast<int>(slot));
      reducer.progress();
    }
    return reducer.finish();
  }
  /// Visits every element of a slot, without gaps.
  template <typename Visit>
  void for_each(const Visit& visit) {
    for (std::size_t slot = 0; slot < layout.offset.size(); ++slot) {
      for (std::size_t i = 0; i < layout.elements[slot]; ++i) visit(layout.offset[slot] + i);
    }
  }
  /// Whether all ranks hold the same bits.
  bool same_on_all_ranks() {
    std::vector<float> first(values(), values() + layout.total);
    communicator->wait(communicator->broadcast(first.data(), first.size(), DType::f32, 0));
    return std::equal(first.begin(), first.end(), values());
  }

  std::unique_ptr<Communicator> communicator;
  std::size_t unit;
  ArenaLayout layout;
  std::span<std::byte> memory;
  std::vector<Bucket> buckets;
  GradientReducer reducer;
};

const std::vector<std::size_t> some_slots = {1, 700, 0, 33, 2000, 5, 64, 900};

class Compressed : public testing::TestWithParam<Compression> {
 protected:
  double ulp() const { return GetParam() == Compression::fp16 ? 0x1p-10 : 0x1p-7; }
};

TEST_P(Compressed, SumsTrackTheTrueOnesOverManySteps) {
  Scene scene(some_slots, {.compression = GetParam()});
  const int steps = 200;
  std::vector<double> got(scene.layout.total);
  std::vector<double> truth(scene.layout.total);
  std::vector<double> sizes(scene.layout.total);  // magnitudes of the summands
  for (int step = 0; step < steps; ++step) {
    scene.step([&](std::size_t i) { return gradient(scene.rank(), step, i); });
    ASSERT_TRUE(scene.same_on_all_ranks()) << "step " << step;
    scene.for_each([&](std::size_t i) {
      got[i] += static_cast<double>(scene.values()[i]);
      for (int rank = 0; rank < scene.ranks(); ++rank) {
        const auto g = static_cast<double>(gradient(rank, step, i));
        truth[i] += g;
        sizes[i] += std::abs(g);
      }
    });
  }
  double worst = 0;
  scene.for_each([&](std::size_t i) {
    // Each rank may retain half a unit of its largest number (1 x 2^(i % 24 - 16)). Sums of several
    // ranks are rounded too, without compensation.
    const double largest = std::ldexp(1.0, static_cast<int>(i % 24) - 16);
    const double held_back = scene.ranks() * largest * ulp() + 0x1p-24;
    const double of_sums = scene.ranks() == 1 ? 0 : sizes[i] * ulp() / 2 / std::sqrt(steps) * 6;
    const double tolerance = held_back + of_sums + sizes[i] * 0x1p-23 + 0x1p-24 * scene.ranks();
    worst = std::max(worst, std::abs(got[i] - truth[i]) / tolerance);
  });
  EXPECT_LE(worst, 1);
  if (scene.ranks() > 1) {
    EXPECT_GT(worst, 1e-4) << "nothing was rounded: is it compressed at all?";
  }
}

/// Plain rounding would lose these forever: gradients far below the unit of their sum.
TEST_P(Compressed, SmallGradientsBesideLargeOnesArrive) {
  Scene scene({64}, {.compression = GetParam()});
  // 2^-12 is a 16th of a unit of fp16 near 1, and less of bf16.
  const float large = 1 + 0x1p-12F;
  double got = 0;
  constexpr int steps = 4096;
  for (int step = 0; step < steps; ++step) {
    scene.step([&](std::size_t) { return scene.rank() == 0 ? large : 0.0F; });
    got += static_cast<double>(scene.values()[0]);
  }
  EXPECT_NEAR(got, static_cast<double>(large) * steps, ulp() * 2);
}

TEST_P(Compressed, GivesTheSameBitsInEveryRun) {
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    Scene scene(some_slots, {.overlap = run == 0, .compression = GetParam()},
                run == 0 ? 4096 : 900);
    std::vector<float> all;
    for (int step = 0; step < 5; ++step) {
      scene.step([&](std::size_t i) { return gradient(scene.rank(), step, i); });
      scene.for_each([&](std::size_t i) { all.push_back(scene.values()[i]); });
    }
    if (run == 0) first = all;
    EXPECT_EQ(all, first) << "nor do overlap and bucket sizes matter";
  }
}

TEST_P(Compressed, NoSumOfFiniteGradientsIsInfinite) {
  Scene scene({40}, {.compression = GetParam()});
  double got = 0;
  for (int step = 0; step < 4 * scene.ranks(); ++step) {
    scene.step([&](std::size_t) { return step == 0 ? 60000.0F : 0.0F; });
    ASSERT_TRUE(std::isfinite(scene.values()[0]));
    got += static_cast<double>(scene.values()[0]);
  }
  EXPECT_NEAR(got, 60000.0 * scene.ranks(), 60000.0 * scene.ranks() * ulp());
}

TEST_P(Compressed, NaNReachesEveryRankAndIsGoneInTheNextStep) {
  Scene scene(some_slots, {.compression = GetParam()});
  const bool odd = scene.rank() == scene.ranks() - 1;
  scene.step([&](std::size_t i) {
    return odd && i == 20 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
  });
  EXPECT_TRUE(std::isnan(scene.values()[20]));
  EXPECT_EQ(scene.values()[21], static_cast<float>(scene.ranks()));
  scene.step([](std::size_t) { return 1.0F; });
  EXPECT_EQ(scene.values()[20], static_cast<float>(scene.ranks()));
}

INSTANTIATE_TEST_SUITE_P(To, Compressed, testing::Values(Compression::fp16, Compression::bf16),
                         [](const auto& tested) {
                           return tested.param == Compression::fp16 ? "fp16" : "bf16";
                         });

/// Gradients of `step`, summed in rank order as on one node.
float sum(int ranks, int step, std::size_t i) {
  float total = gradient(0, step, i);
  for (int rank = 1; rank < ranks; ++rank) total += gradient(rank, step, i);
  return total;
}

TEST(Lag, GivesTheSumsOfTheStepBefore) {
  for (const bool overlap : {true, false}) {
    Scene scene(some_slots, {.overlap = overlap, .lag = true});
    const auto of_step = [&](int step) {
      return [&scene, step](std::size_t i) { return gradient(scene.rank(), step, i); };
    };
    EXPECT_FALSE(scene.reducer.drain());
    EXPECT_FALSE(scene.step(of_step(0)).reduced) << "there is none before the first";
    for (int step = 1; step < 6; ++step) {
      EXPECT_TRUE(scene.step(of_step(step)).reduced);
      scene.for_each(
          [&](std::size_t i) { ASSERT_EQ(scene.values()[i], sum(scene.ranks(), step - 1, i)); });
    }
    EXPECT_TRUE(scene.reducer.drain());
    scene.for_each([&](std::size_t i) { ASSERT_EQ(scene.values()[i], sum(scene.ranks(), 5, i)); });
    EXPECT_FALSE(scene.reducer.drain()) << "once";
    EXPECT_FALSE(scene.step(of_step(6)).reduced) << "as at the beginning";
    EXPECT_TRUE(scene.step(of_step(7)).reduced);
    scene.for_each([&](std::size_t i) { ASSERT_EQ(scene.values()[i], sum(scene.ranks(), 6, i)); });
    scene.reducer.drain();
  }
}

TEST(Lag, KeepsEachStepsBucketsWhenTheyChange) {
  Scene scene(some_slots, {.lag = true});
  for (int step = 0; step < 8; ++step) {
    scene.reducer.set_buckets(
        plan_buckets(scene.layout, static_cast<std::size_t>(1000 * (step % 3) + 1), 256));
    scene.step([&](std::size_t i) { return gradient(scene.rank(), step, i); });
    if (step == 0) continue;
    scene.for_each(
        [&](std::size_t i) { ASSERT_EQ(scene.values()[i], sum(scene.ranks(), step - 1, i)); });
  }
  scene.reducer.drain();
}

TEST(Lag, OfCompressedGradientsIsTheSameOneStepLater) {
  Scene now(some_slots, {.compression = Compression::bf16});
  Scene later(some_slots, {.compression = Compression::bf16, .lag = true});
  std::vector<float> expected;
  for (int step = 0; step < 6; ++step) {
    const auto value = [&](std::size_t i) { return gradient(now.rank(), step, i); };
    later.step(value);
    if (step > 0) {
      later.for_each([&](std::size_t i) { ASSERT_EQ(later.values()[i], expected[i]); });
    }
    now.step(value);
    expected.assign(now.values(), now.values() + now.layout.total);
  }
  later.reducer.drain();
}

/// The test joins every rank's own parts.
TEST(Scatter, GivesEachRankItsPartOfEveryBucket) {
  std::mt19937 shared(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::size_t> elements(1 + shared() % 20);
    for (auto& count : elements) count = shared() % 3 == 0 ? shared() % 5000 : shared() % 40;
    if (round == 0) elements = {3};  // fewer elements than ranks, in most runs
    const ReducerOptions options{
        .overlap = shared() % 2 == 0,
        .compression = shared() % 3 == 0 ? Compression::fp16 : Compression::none,
        .lag = shared() % 3 == 0,
        .scatter = true};
    Scene whole(elements, {.compression = options.compression}, 1 + shared() % 20000);
    Scene parts(elements, options, 1 + shared() % 20000);
    for (int step = 0; step < 3; ++step) {
      const auto value = [&](std::size_t i) { return gradient(whole.rank(), step, i); };
      whole.step(value);
      parts.step(value);
      ASSERT_EQ(parts.reducer.drain(), options.lag);
      for (const Bucket& bucket : parts.buckets) {
        const ArenaRange mine = part_of(bucket, parts.rank(), parts.ranks());
        parts.for_each([&](std::size_t i) {
          if (i < mine.offset || i >= mine.offset + mine.elements) return;
          ASSERT_EQ(parts.values()[i], whole.values()[i]) << "element " << i;
        });
      }
    }
  }
}

struct Way {
  std::string name;
  std::function<std::unique_ptr<Communicator>()> open;
};
const std::vector<Way> other_ways = {
    {"mpi", [] { return all_ranks("mpi"); }},
    {"ring", [] { return all_ranks("ring"); }},
    {"parameter_server", [] { return all_ranks("parameter-server"); }},
    {"nodes_of_1", [] { return in_nodes_of(1); }},
    {"nodes_of_2", [] { return in_nodes_of(2); }},
    {"nodes_of_3", [] { return in_nodes_of(3); }}};

void PrintTo(const Way& one, std::ostream* out) {
  *out << one.name;
}

class EveryWay : public testing::TestWithParam<Way> {};

/// Sums in another order round differently; `unit` is the last place of a number near 1.
void expect_sums_of(Scene& scene, const ArenaRange& range, int step, double unit) {
  scene.for_each([&](std::size_t i) {
    if (i < range.offset || i >= range.offset + range.elements) return;
    double exact = 0;
    for (int rank = 0; rank < scene.ranks(); ++rank) {
      exact += static_cast<double>(gradient(rank, step, i));
    }
    const double largest = std::ldexp(1.0, static_cast<int>(i % 24) - 16);
    const double tolerance = scene.ranks() * scene.ranks() * largest * unit + 0x1p-22;
    ASSERT_NEAR(static_cast<double>(scene.values()[i]), exact, tolerance) << "element " << i;
  });
}

TEST_P(EveryWay, EveryOptionSumsAndTwiceTheSame) {
  for (const Compression compression : {Compression::none, Compression::fp16, Compression::bf16}) {
    for (const bool lag : {false, true}) {
      for (const bool scatter : {false, true}) {
        const ReducerOptions options{.compression = compression, .lag = lag, .scatter = scatter};
        const double unit = compression == Compression::none   ? 0x1p-22
                            : compression == Compression::fp16 ? 0x1p-10
                                                               : 0x1p-7;
        std::vector<float> first;
        for (int run = 0; run < 2; ++run) {
          Scene scene(some_slots, options, 2000, GetParam().open());
          for (int step = 0; step < 2; ++step) {
            scene.step([&](std::size_t i) { return gradient(scene.rank(), step, i); });
            ASSERT_EQ(scene.reducer.drain(), lag);
            // The first step has no residual to add.
            if (step > 0) continue;
            for (const Bucket& bucket : scene.buckets) {
              const ArenaRange whole = {bucket.offset, bucket.elements};
              expect_sums_of(scene, scatter ? part_of(bucket, scene.rank(), scene.ranks()) : whole,
                             0, unit);
            }
          }
          EXPECT_TRUE(scatter || scene.same_on_all_ranks());
          std::vector<float> mine;
          for (const Bucket& bucket : scene.buckets) {
            const ArenaRange range = scatter ? part_of(bucket, scene.rank(), scene.ranks())
                                             : ArenaRange{bucket.offset, bucket.elements};
            mine.insert(mine.end(), scene.values() + range.offset,
                        scene.values() + range.offset + range.elements);
          }
          if (run == 0) first = mine;
          EXPECT_EQ(mine, first) << "another run, other bits";
        }
      }
    }
  }
}

TEST_P(EveryWay, SixteenBitSumsOfFiniteGradientsStayFinite) {
  Scene scene({40}, {.compression = Compression::fp16}, 4096, GetParam().open());
  for (int step = 0; step < 3; ++step) {
    scene.step([](std::size_t i) { return i % 2 == 0 ? 65000.0F : -1e6F; });
    scene.for_each([&](std::size_t i) { ASSERT_TRUE(std::isfinite(scene.values()[i])); });
  }
}

INSTANTIATE_TEST_SUITE_P(Over, EveryWay, testing::ValuesIn(other_ways),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace dllaunch
