#include "trainer/losses/loss.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/losses/loss_values.hpp"
#include "tests/trainer/named_files.hpp"

namespace dllaunch {
namespace {

OwnTargets random_targets(TargetKind kind, int rows, int outputs, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  OwnTargets targets;
  if (kind == TargetKind::class_index) {
    for (int i = 0; i < rows; ++i) {
      const auto label = static_cast<std::int32_t>(random() % static_cast<unsigned>(outputs));
      targets.labels.push_back(label);
    }
    return targets;
  }
  for (int i = 0; i < rows * outputs; ++i) {
    const float value = uniform(random);
    targets.values.push_back(kind == TargetKind::values ? value : value > 0 ? 1.F : 0.F);
  }
  return targets;
}

/// Calls body(choice, kind) for every valid combination of loss, smoothing and kind of target.
template <typename Body>
void for_every_choice(const Body& body) {
  for (const LossEntry& loss : losses()) {
    for (const double smoothing : {0.0, 0.3}) {
      if (smoothing > 0 && !loss.smooths) continue;
      for (const TargetKind kind : loss.targets) {
        SCOPED_TRACE(std::string(loss.name) + " smoothing " + std::to_string(smoothing) +
                     " targets " + std::to_string(static_cast<int>(kind)));
        body(LossChoice{.name = std::string(loss.name), .label_smoothing = smoothing}, kind);
      }
    }
  }
}

TEST(Losses, EveryOneOfTheFolderIsListed) {
  for (const LossEntry& loss : losses()) {
    EXPECT_FALSE(loss.summary.empty());
    EXPECT_EQ(find_loss(loss.name), &loss);
  }
  EXPECT_EQ(names_of(losses()), kinds_in("trainer/losses"));
  EXPECT_EQ(find_loss("hinge"), nullptr);
}

TEST(Losses, GradientsEqualCentralDifferences) {
  constexpr int rows = 4;
  constexpr int width = 5;
  constexpr double step = 1e-6;
  for_every_choice([&](const LossChoice& choice, TargetKind kind) {
    const OwnTargets targets = random_targets(kind, rows, width, 5);
    std::mt19937 random(11);
    std::normal_distribution<double> normal(0, 2);
    std::vector<double> outputs(rows * width);
    for (double& output : outputs) output = normal(random);
    const auto gradient = loss_of(choice, outputs, rows, targets).gradient;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::vector<double> moved = outputs;
      moved[i] = outputs[i] + step;
      const double above = loss_of(choice, moved, rows, targets).result.loss_sum;
      moved[i] = outputs[i] - step;
      const double below = loss_of(choice, moved, rows, targets).result.loss_sum;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * step), 1e-8) << "output " << i;
    }
  });
}

/// In a network: backends pass the loss its inputs, and skip absent rows.
TEST(Losses, EveryBackendTrainsWithEveryLoss) {
  GraphBuilder net("m", {2, 4, 4});
  net.add("conv", Conv2d{.channels = 3, .kernel = 3});
  net.add("tanh", Tanh{});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 4});
  auto built = std::move(net).finish();
  ASSERT_TRUE(built);
  Graph graph = *std::move(built);
  constexpr int rows = 3;
  for_every_choice([&](const LossChoice& choice, TargetKind kind) {
    graph.loss = choice;
    const Images images(graph, rows);
    const OwnTargets targets = random_targets(kind, rows, 4, 7);
    const Batch batch{.images = images.pixels,
                      .labels = targets.labels,
                      .count = rows,
                      .targets = targets.values};
    Compiled exact(backend_named("reference"), graph, {.batch = 5, .precision = Precision::fp64});
    exact.set_weights(random_weights(graph));
    const ForwardResult expected = exact->forward(batch, Phase::train);
    exact->backward(0.5, false, [](int) {});
    const auto from_outputs = loss_of(choice, exact->logits(), rows, targets);
    EXPECT_EQ(expected.loss_sum, from_outputs.result.loss_sum);
    EXPECT_EQ(expected.correct, from_outputs.result.correct);
    for (const BackendEntry& backend : usable_backends()) {
      Compiled compiled(backend, graph, {.batch = 5, .threads = 1});
      compiled.set_weights(random_weights(graph));
      EXPECT_NEAR(compiled->forward(batch, Phase::train).loss_sum, expected.loss_sum, 1e-4);
      compiled->backward(0.5, false, [](int) {});
      expect_close(graph, compiled.gradients(), exact.gradients(), 1e-4);
    }
  });
}

TEST(Losses, ARowIsRightWhereItsLabelIsTheFirstOfTheLargest) {
  const std::vector<double> outputs{1, 3, 3, not_a_number, 0, 1, 0, 0, 0};
  EXPECT_EQ(count_correct(outputs, std::vector<std::int32_t>{1, 2, 0}), 2);
  EXPECT_EQ(count_correct(outputs, std::vector<std::int32_t>{2, 0, 1}), 0);
  EXPECT_EQ(count_correct({}, {}), 0);
}

}  // namespace
}  // namespace dllaunch
