// Compares three steps on the device with three on the host, for every optimiser of the table.
#include "trainer/backends/gpu/update/optimizer_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace dllaunch::gpu {
namespace {

const std::vector<std::size_t> sizes = {1000, 1, 37, 4096, 5};
const std::vector<bool> flat = {false, true, true, false, false};
const ArenaLayout layout = lay_out(DType::f32, sizes);
const std::size_t all = layout.total;

struct Arenas {
  std::vector<float> weights;
  std::vector<float> gradients;
  std::vector<std::vector<float>> states;
};

Arenas random_arenas(std::size_t states) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  Arenas arenas{std::vector<float>(all), std::vector<float>(all),
                std::vector<std::vector<float>>(states, std::vector<float>(all))};
  for (std::size_t slot = 0; slot + 1 < sizes.size(); ++slot) {  // the last has a norm of zero
    const auto first = arenas.weights.begin() + static_cast<std::ptrdiff_t>(layout.offset[slot]);
    std::generate_n(first, sizes[slot], [&] { return normal(random); });
  }
  return arenas;
}

std::vector<float> gradients_of_step(int step) {
  std::mt19937 random(static_cast<unsigned>(100 + step));
  std::normal_distribution<float> normal(0, 0.3F);
  std::vector<float> gradients(all);
  for (std::size_t slot = 0; slot < sizes.size(); ++slot) {
    const auto first = gradients.begin() + static_cast<std::ptrdiff_t>(layout.offset[slot]);
    std::generate_n(first, sizes[slot], [&] { return normal(random); });
  }
  return gradients;
}

StepInfo info(int step) {
  return {.lr = 0.05 / step, .step = step, .epoch = 9.0 + step, .previous_lr = step == 1 ? 0 : 0.1};
}

void step_on_host(const OptimizerEntry& optimizer, const OptimizerOptions& options,
                  const StepInfo& now, Arenas& arenas) {
  for (std::size_t slot = 0; slot < sizes.size(); ++slot) {
    const std::size_t offset = layout.offset[slot];
    std::vector<void*> states;
    for (auto& state : arenas.states) states.push_back(state.data() + offset);
    ParameterUpdate piece{.elements = sizes[slot],
                          .weights = arenas.weights.data() + offset,
                          .gradients = arenas.gradients.data() + offset,
                          .states = states,
                          .one_dimensional = flat[slot]};
    if (optimizer.measure != nullptr) {
      const SquareSums sums = optimizer.measure(DType::f32, options, now, piece);
      piece.weight_norm = std::sqrt(sums.weights);
      piece.gradient_norm = std::sqrt(sums.gradients);
    }
    optimizer.update(DType::f32, options, now, piece);
  }
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(actual[i], wanted[i], 2e-6 * std::max(1.F, std::abs(wanted[i]))) << i;
  }
}

/// Updates as the ranks of a sharded optimiser do: in parts with arbitrary boundaries, and norms
/// summed over all parts.
void step_on_device(GpuOptimizer& on_device, const OptimizerEntry& optimizer, const StepInfo& now,
                    Arenas& arenas, std::span<const std::size_t> cuts) {
  std::vector<std::vector<void*>> states;
  std::vector<ArenaPart> parts;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const std::size_t first = cuts[i];
    auto& own = states.emplace_back();
    for (auto& state : arenas.states) own.push_back(state.data() + first);
    parts.push_back({.first = first,
                     .elements = cuts[i + 1] - first,
                     .weights = arenas.weights.data() + first,
                     .gradients = arenas.gradients.data() + first,
                     .states = own});
  }
  std::vector<SquareSums> sums;
  if (optimizer.measure != nullptr) {
    sums.resize(sizes.size());
    for (const ArenaPart& part : parts) on_device.measure(now, part, sums);
  }
  for (const ArenaPart& part : parts) on_device.update(now, part, sums);
}

void expect_same_steps(const OptimizerEntry& optimizer, const OptimizerOptions& options,
                       const std::vector<std::size_t>& cuts) {
  Arenas host = random_arenas(optimizer.states(options).size());
  Arenas device = host;
  StepClock clock;
  GpuOptimizer on_device(optimizer, options, layout, flat, nullptr, clock);
  for (int step = 1; step <= 3; ++step) {
    host.gradients = device.gradients = gradients_of_step(step);
    step_on_host(optimizer, options, info(step), host);
    step_on_device(on_device, optimizer, info(step), device, cuts);
    expect_near(device.weights, host.weights);
    for (std::size_t s = 0; s < host.states.size(); ++s) {
      expect_near(device.states[s], host.states[s]);
    }
  }
}

/// Returns option sets other than the defaults.
std::vector<OptimizerOptions> variants(const OptimizerEntry& optimizer) {
  OptimizerOptions decayed = optimizer.defaults;
  decayed.weight_decay = 0.01;
  OptimizerOptions plain = decayed;
  plain.momentum = 0;
  OptimizerOptions heavy = decayed;
  heavy.momentum = 0.9;
  heavy.nesterov = optimizer.name == "sgd";
  heavy.lr_decay = 0.1;
  OptimizerOptions centered = heavy;
  centered.centered = true;
  centered.lr_in_momentum = false;
  OptimizerOptions corrected = plain;
  corrected.centered = true;
  corrected.momentum_correction = true;
  corrected.momentum = optimizer.name == "lars" ? 0.9 : 0;
  return {optimizer.defaults, decayed, plain, heavy, centered, corrected};
}

TEST(OptimizerKernels, EveryOptimizerHasThem) {
  for (const OptimizerEntry& optimizer : optimizers()) {
    EXPECT_TRUE(GpuOptimizer::has(optimizer)) << optimizer.name;
  }
}

TEST(OptimizerKernels, StepAsTheHostDoes) {
  for (const OptimizerEntry& optimizer : optimizers()) {
    for (const OptimizerOptions& options : variants(optimizer)) {
      SCOPED_TRACE(optimizer.name);
      expect_same_steps(optimizer, options, {0, all});
    }
  }
}

TEST(OptimizerKernels, PartsThatCutParametersGiveTheSame) {
  const std::size_t third = layout.offset[3];
  for (const OptimizerEntry& optimizer : optimizers()) {
    SCOPED_TRACE(optimizer.name);
    expect_same_steps(optimizer, variants(optimizer)[3], {0, 500, third, third + 1, 3000, all});
  }
}

TEST(OptimizerKernels, SlotsAreFoundAtTheirEdges) {
  const std::vector<std::int64_t> offsets = {0, 1000, 1001, 1038, 5134, 5139};
  for (const std::int64_t first : {0, 7}) {
    const SlotTable table{offsets.data(), 5, first};
    for (std::int64_t slot = first == 0 ? 0 : 1; slot < 5; ++slot) {
      const auto at = static_cast<std::size_t>(slot);
      EXPECT_EQ(table.slot_of(offsets[at] - first), slot);
      EXPECT_EQ(table.slot_of(offsets[at + 1] - 1 - first), slot);
    }
  }
}

}  // namespace
}  // namespace dllaunch::gpu
