#include "trainer/backends/onednn/assemble.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

/// Freezes all parameters except those with one of these strings in their names.
Graph frozen_but(const std::vector<std::string>& trained, Graph graph) {
  for (Parameter& parameter : graph.parameters) {
    parameter.frozen = std::ranges::none_of(trained, [&](const std::string& part) {
      return parameter.name.find(part) != std::string::npos;
    });
  }
  return graph;
}

/// Gradients of one forward and two backward passes; NaN where nothing was written.
struct Gradients {
  std::vector<int> reported;  // slots, by the first backward pass
  Tensors once;
  Tensors twice;  // accumulated
};

Gradients gradients_of(const Graph& graph) {
  Compiled compiled(backend_named("onednn"), graph, {.batch = 2, .threads = 1});
  compiled.set_weights(random_weights(graph));
  const Images images(graph, 2);
  Gradients gradients;
  compiled->forward(images.batch(), Phase::train);
  compiled->backward(1, false, [&](int slot) {
    if (slot != no_slot) gradients.reported.push_back(slot);
  });
  gradients.once = compiled.gradients();
  compiled->forward(images.batch(), Phase::train);
  compiled->backward(1, true, [](int) {});
  gradients.twice = compiled.gradients();
  return gradients;
}

TEST(OneDnnAssemble, RunsCnnInSixteenPieces) {
  EXPECT_EQ(
      onednn_work(graph_of("cnn")),
      (std::vector<std::string>{
          "conv1 forward", "conv2 forward", "pool forward", "fc1 forward", "fc2 forward",
          "fc2 backward weights", "fc2 backward data", "relu3 backward", "fc1 backward weights",
          "fc1 backward data", "pool relu backward", "pool backward", "conv2 backward weights",
          "conv2 backward data", "relu1 backward", "conv1 backward weights"}));
}

TEST(OneDnnAssemble, GoesBackAsFarAsSomethingIsTrained) {
  const std::vector<std::string> forward{"conv1 forward", "conv2 forward", "pool forward",
                                         "fc1 forward", "fc2 forward"};
  auto last = forward;
  last.emplace_back("fc2 backward weights");
  EXPECT_EQ(onednn_work(frozen_but({"fc2"}, graph_of("cnn"))), last);
  auto both = last;
  both.insert(both.end(), {"fc2 backward data", "relu3 backward", "fc1 backward weights"});
  EXPECT_EQ(onednn_work(frozen_but({"fc"}, graph_of("cnn"))), both);
}

TEST(OneDnnAssemble, ComputesNoGradientsOfWhatIsFrozenAboveSomethingTrained) {
  EXPECT_EQ(onednn_work(frozen_but({"conv1", "fc2"}, graph_of("cnn"))),
            (std::vector<std::string>{"conv1 forward", "conv2 forward", "pool forward",
                                      "fc1 forward", "fc2 forward", "fc2 backward weights",
                                      "fc2 backward data", "relu3 backward", "fc1 backward data",
                                      "pool relu backward", "pool backward", "conv2 backward data",
                                      "relu1 backward", "conv1 backward weights"}));
}

/// Through branches, normalisations and pools: freezing earlier layers does not change the
/// gradients.
TEST(OneDnnAssemble, TrainedGradientsDoNotDependOnWhatIsFrozenBefore) {
  using Names = std::vector<std::string>;
  const std::vector<std::pair<std::string, std::vector<Names>>> cases{
      {"cnn", {{"conv2", "fc"}, {"fc2"}, {"conv", "fc2"}}},
      {"resnet50",
       {{"layer2", "layer3", "layer4", "fc"}, {"fc"}, {"layer3.5.conv2"}, {"conv", "downsample"}}}};
  for (const auto& [name, choices] : cases) {
    if (quick_tier() && name == "resnet50") continue;  // two seconds
    const Graph whole = graph_of(name);
    const Gradients all = gradients_of(whole);
    for (const Names& trained : choices) {
      const Graph graph = frozen_but(trained, whole);
      const Gradients some = gradients_of(graph);
      EXPECT_EQ(some.reported, all.reported) << name;
      for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
        if (graph.parameters[p].frozen) continue;
        EXPECT_EQ(some.once[p], all.once[p]) << name << " " << graph.parameters[p].name;
        EXPECT_EQ(some.twice[p], all.twice[p]) << name << " " << graph.parameters[p].name;
      }
    }
  }
}

TEST(OneDnnAssemble, GivesTheLossPlainLogits) {
  GraphBuilder net("m", {2, 5, 5});
  net.add("conv", Conv2d{.channels = 3, .kernel = 4});
  net.add("flatten", Flatten{});
  auto graph = std::move(net).finish();
  ASSERT_TRUE(graph);
  onednn::Program program(dnnl::engine(dnnl::engine::kind::cpu, 0), graph->parameters.size());
  const onednn::Assembled assembled = onednn::assemble(*graph, 7, program);
  EXPECT_EQ(assembled.input.get_desc(), onednn::plain_layout({7, 2, 5, 5}));
  EXPECT_EQ(assembled.logits.get_desc(), onednn::plain_layout({7, 3, 2, 2}));
  EXPECT_EQ(assembled.logit_grads.get_desc(), assembled.logits.get_desc());
  ASSERT_EQ(assembled.backward.size(), 1U);
  ASSERT_EQ(assembled.backward[0].slots.size(), 2U);
  EXPECT_EQ(assembled.backward[0].slots[1].slot, 1);
  EXPECT_EQ(assembled.backward[0].slots[1].parameter, 1);
}

}  // namespace
}  // namespace dllaunch
