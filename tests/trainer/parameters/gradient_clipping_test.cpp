// Clipping and spared vectors on 1, 2, 3, 4 and 7 ranks, whole and sharded.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/parameters/model_on_ranks.hpp"

namespace dllaunch {
namespace {

/// In double, of the slots that are trained.
double reference_norm(Model& model) {
  double sum = 0;
  const ArenaLayout& layout = model.arenas.layout();
  for (int slot = 0; slot < std::ssize(layout.offset); ++slot) {
    if (model.arenas.frozen(slot)) continue;
    const auto* g = reinterpret_cast<const float*>(layout.at(model.arenas.gradients(), slot));
    for (std::size_t i = 0; i < layout.elements[static_cast<std::size_t>(slot)]; ++i) {
      sum += double{g[i]} * g[i];
    }
  }
  return std::sqrt(sum);
}

/// The same double on every rank, or the ranks' weights would drift.
void expect_same_everywhere(double value, Communicator& communicator) {
  double least = value;
  double most = value;
  communicator.wait(communicator.all_reduce(&least, 1, DType::f64, ReduceOp::min));
  communicator.wait(communicator.all_reduce(&most, 1, DType::f64, ReduceOp::max));
  EXPECT_EQ(least, most);
}

TEST(GradientClipping, TheNormIsThatOfAllTrainedGradients) {
  const auto communicator = all_ranks();
  for (const bool shard : {false, true}) {
    for (const std::vector<std::string>& freeze : {std::vector<std::string>{}, {"conv1", "fc2"}}) {
      Model model(*communicator, shard, options, *find_optimizer("sgd"), freeze);
      model.arenas.deal(model.arenas.plan(3000));
      model.fill_gradients(1);
      const double expected = reference_norm(model);
      const double norm = model.arenas.gradient_norm();
      EXPECT_NEAR(norm, expected, 1e-12 * expected) << shard;
      expect_same_everywhere(norm, *communicator);
    }
  }
}

/// PyTorch's factor, to the norm's rounding; a norm below the bound changes no bit.
TEST(GradientClipping, ScalesTheGradientsOfAStepToTheBound) {
  const auto communicator = all_ranks();
  const OptimizerEntry& sgd = *find_optimizer("sgd");
  const OptimizerOptions plain{.lr = 1};
  for (const bool shard : {false, true}) {
    Model model(*communicator, {.shard = shard, .clip_norm = 0.5}, plain, sgd);
    Model same(*communicator, {.shard = shard, .clip_norm = 1e9}, plain, sgd);
    Model free(*communicator, {.shard = shard}, plain, sgd);
    const auto before = model.arenas.weights();
    for (Model* each : {&model, &same, &free}) each->fill_gradients(2);
    const double norm = reference_norm(model);
    for (Model* each : {&model, &same, &free}) each->arenas.update({.lr = 1});
    expect_same(same.arenas.weights(), free.arenas.weights());
    const auto after = model.arenas.weights();
    const auto unclipped = free.arenas.weights();
    const double factor = 0.5 / (norm + 1e-6);
    ASSERT_LT(factor, 1);
    double moved = 0;
    for (std::size_t t = 0; t < after.size(); ++t) {
      const auto was = floats_of(before[t]);
      const auto is = floats_of(after[t]);
      const auto without = floats_of(unclipped[t]);
      for (std::size_t i = 0; i < is.size(); ++i) {
        ASSERT_NEAR(was[i] - is[i], factor * (was[i] - without[i]), 1e-6) << after[t].name;
        moved += std::pow(double{was[i]} - is[i], 2);
      }
    }
    EXPECT_NEAR(std::sqrt(moved), 0.5, 1e-4);
  }
}

/// As torch.nn.utils.clip_grad_norm_, which does not hide what is not a number.
TEST(GradientClipping, ANormThatIsNotFiniteStaysSo) {
  const auto communicator = all_ranks();
  Model model(*communicator, {.clip_norm = 1.0}, options, *find_optimizer("sgd"));
  model.fill_gradients(1);
  reinterpret_cast<float*>(model.arenas.gradients().data())[0] = std::nanf("");
  EXPECT_TRUE(std::isnan(model.arenas.gradient_norm()));
  model.arenas.update({.lr = 0.1});
  EXPECT_TRUE(std::isnan(floats_of(model.arenas.weights()[0])[0]));
}

/// Vectors move as without weight decay, all else as with it.
TEST(GradientClipping, VectorsAreSparedFromWeightDecay) {
  const auto communicator = all_ranks();
  for (const auto& entry : optimizers()) {
    if (entry.measure != nullptr) continue;  // these spare vectors anyway
    OptimizerOptions decayed = entry.defaults;
    decayed.weight_decay = 0.1;
    OptimizerOptions undecayed = decayed;
    undecayed.weight_decay = 0;
    for (const bool shard : {false, true}) {
      Model spared(*communicator, {.shard = shard, .decay_vectors = false}, decayed, entry);
      Model with(*communicator, {.shard = shard}, decayed, entry);
      Model without(*communicator, {.shard = shard}, undecayed, entry);
      for (int step = 0; step < 3; ++step) {
        for (Model* each : {&spared, &with, &without}) {
          each->fill_gradients(step);
          each->arenas.update({.lr = 0.1, .step = step + 1});
        }
      }
      const auto weights = spared.arenas.weights();
      for (std::size_t t = 0; t < weights.size(); ++t) {
        const bool vector = weights[t].shape.size() == 1;
        const auto expected = (vector ? without : with).arenas.weights();
        EXPECT_EQ(weights[t].data, expected[t].data) << entry.name << " " << weights[t].name;
      }
    }
  }
}

}  // namespace
}  // namespace dllaunch
