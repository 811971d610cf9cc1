#include "trainer/optimizers/optimizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "tests/trainer/named_files.hpp"

namespace dllaunch {
namespace {

TEST(Optimizer, IsFoundByName) {
  ASSERT_FALSE(optimizers().empty());
  for (const auto& entry : optimizers()) {
    EXPECT_EQ(find_optimizer(entry.name), &entry);
    EXPECT_FALSE(entry.summary.empty());
  }
  EXPECT_EQ(find_optimizer("SGD"), nullptr);
}

TEST(Optimizer, OfTheFolderIsListed) {
  EXPECT_EQ(names_of(optimizers()), kinds_in("trainer/optimizers"));
}

TEST(Optimizer, HasARateAndDefaultsThatFit) {
  for (const auto& entry : optimizers()) {
    EXPECT_EQ(std::ranges::count(entry.options, "lr"), 1) << entry.name;
    if (entry.problem != nullptr) {
      EXPECT_EQ(entry.problem(entry.defaults), "") << entry.name;
    }
  }
}

/// Returns all combinations of switches.
std::vector<OptimizerOptions> many_options(const OptimizerEntry& entry) {
  std::vector<OptimizerOptions> many;
  for (int bits = 0; bits < 32; ++bits) {
    OptimizerOptions options = entry.defaults;
    options.weight_decay = 0.1;
    options.momentum = (bits & 1) != 0 ? 0.9 : 0;
    options.nesterov = (bits & 2) != 0;
    options.centered = (bits & 4) != 0;
    options.lr_in_momentum = (bits & 8) != 0;
    options.eps = (bits & 16) != 0 ? 1e-300 : entry.defaults.eps;  // rounds to zero in f32
    many.push_back(options);
  }
  return many;
}

/// Padding must stay zero, or padded layouts would drift, also in checkpoints: on either side of
/// moving weights, in every step, with every option.
TEST(Optimizer, LeavesZeroAtZero) {
  constexpr std::size_t padding = 3;
  constexpr std::size_t count = 2 * padding + 17;
  const auto pads = [](std::size_t i) { return i < padding || i >= count - padding; };
  for (const auto& entry : optimizers()) {
    for (const OptimizerOptions& options : many_options(entry)) {
      std::vector<float> weights(count), gradients(count);
      std::vector<std::vector<float>> states(entry.states(options).size(),
                                             std::vector<float>(count));
      std::vector<void*> pointers;
      for (auto& state : states) pointers.push_back(state.data());
      std::mt19937 random(7);
      for (int step = 0; step < 6; ++step) {
        for (std::size_t i = 0; i < count; ++i) {
          gradients[i] = pads(i) ? 0 : static_cast<float>(random() % 2001) * 1e-3F - 1;
          if (step == 0) weights[i] = gradients[i];
        }
        const StepInfo now{.lr = step == 3 ? 0.0 : 0.1, .step = step + 1, .epoch = 4.0 * step};
        ParameterUpdate slot{.elements = count,
                             .weights = weights.data(),
                             .gradients = gradients.data(),
                             .states = pointers,
                             .one_dimensional = step % 2 == 1};
        if (entry.measure != nullptr) {
          const SquareSums sums = entry.measure(DType::f32, options, now, slot);
          slot.weight_norm = std::sqrt(sums.weights);
          slot.gradient_norm = std::sqrt(sums.gradients);
        }
        entry.update(DType::f32, options, now, slot);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(std::isfinite(weights[i])) << entry.name << ", step " << step;
          if (!pads(i)) continue;
          ASSERT_EQ(weights[i], 0) << entry.name << ", step " << step;
          for (const auto& state : states) ASSERT_EQ(state[i], 0) << entry.name;
        }
      }
      EXPECT_NE(weights[padding], 0) << entry.name << " moved nothing";
    }
  }
}

/// A parameter may be split into any pieces: the result depends only on its norms.
TEST(Optimizer, PiecesAreUpdatedAsTheWhole) {
  constexpr std::size_t count = 101;
  for (const auto& entry : optimizers()) {
    const std::size_t states = entry.states(entry.defaults).size();
    struct Arrays {
      std::vector<float> w, g;
      std::vector<std::vector<float>> s;
    };
    Arrays whole{std::vector<float>(count, 0.5F), std::vector<float>(count),
                 std::vector<std::vector<float>>(states, std::vector<float>(count))};
    Arrays pieces = whole;
    std::mt19937 random(3);
    for (int step = 0; step < 4; ++step) {
      for (std::size_t i = 0; i < count; ++i) {
        whole.g[i] = pieces.g[i] = static_cast<float>(random() % 2001) * 1e-3F - 1;
      }
      const StepInfo now{.lr = 0.1, .step = step + 1, .epoch = 9};
      const auto visit = [&](Arrays& arrays, std::size_t length, auto act) {
        for (std::size_t begin = 0; begin < count; begin += length) {
          std::vector<void*> pointers;
          for (auto& state : arrays.s) pointers.push_back(state.data() + begin);
          act(ParameterUpdate{.elements = std::min(length, count - begin),
                              .weights = arrays.w.data() + begin,
                              .gradients = arrays.g.data() + begin,
                              .states = pointers});
        }
      };
      SquareSums norms;  // the same for both: summing pieces rounds differently
      for (auto [arrays, length] : {std::pair(&pieces, random() % 20 + 1), {&whole, count}}) {
        if (entry.measure == nullptr) continue;
        norms = {};
        visit(*arrays, length, [&](const ParameterUpdate& piece) {
          const auto sums = entry.measure(DType::f32, entry.defaults, now, piece);
          norms.weights += sums.weights;
          norms.gradients += sums.gradients;
        });
      }
      for (auto [arrays, length] : {std::pair(&pieces, random() % 20 + 1), {&whole, count}}) {
        visit(*arrays, length, [&](ParameterUpdate piece) {
          piece.weight_norm = std::sqrt(norms.weights);
          piece.gradient_norm = std::sqrt(norms.gradients);
          entry.update(DType::f32, entry.defaults, now, piece);
        });
      }
    }
    EXPECT_EQ(pieces.w, whole.w) << entry.name;
    EXPECT_EQ(pieces.s, whole.s) << entry.name;
  }
}

}  // namespace
}  // namespace dllaunch
