// Winograd convolution: when it is used, and its rounding error.
#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

/// For weight gradients, against direct convolution; two orders of a direct sum differ by 1e-6.
/// Bias gradients are less accurate, because of cancellation.
constexpr double bound = 1e-5;
constexpr double bias_bound = 1e-4;

Graph chain(int channels, int pixels, bool activations = true) {
  GraphBuilder net("m", {3, pixels, pixels});
  const auto activate = [&](const char* name) {
    if (activations) net.add(name, Relu{});
  };
  net.add("conv1", Conv2d{.channels = channels, .kernel = 3, .padding = 1});
  activate("relu1");
  net.add("conv2", Conv2d{.channels = channels, .kernel = 3, .padding = 1});
  activate("relu2");
  net.add("conv3", Conv2d{.channels = 2 * channels, .kernel = 3});
  activate("relu3");
  net.add("pool", GlobalAvgPool{});
  net.add("fc", Dense{.units = 10});
  auto graph = std::move(net).finish();
  EXPECT_TRUE(graph);
  return *std::move(graph);
}

CompileOptions with(ConvolutionAlgorithm how, int batch) {
  return {.batch = batch, .threads = 2, .convolution = how};
}

std::vector<std::string> winograd_steps(const Graph& graph, ConvolutionAlgorithm how, int batch) {
  Compiled compiled(backend_named("onednn"), graph, with(how, batch));
  std::vector<std::string> found;
  for (const std::string& step : compiled->steps()) {
    if (step.find("wino") != std::string::npos) found.push_back(step.substr(0, step.find(':')));
  }
  return found;
}

/// Whether this CPU has Winograd; else the tests are skipped.
bool has_winograd() {
  return !winograd_steps(chain(64, 16), ConvolutionAlgorithm::winograd, 8).empty();
}

struct Outcome {
  std::vector<double> logits;
  Tensors gradients;
};

Outcome run(const Graph& graph, ConvolutionAlgorithm how, int batch, unsigned seed) {
  Compiled compiled(backend_named("onednn"), graph, with(how, batch));
  compiled.set_weights(random_weights(graph));
  compiled->forward(Images(graph, batch, seed).batch(), Phase::train);
  Outcome outcome{.logits = compiled->logits(), .gradients = {}};
  compiled->backward(1.0 / batch, false, [](int) {});
  outcome.gradients = compiled.gradients();
  return outcome;
}

TEST(OneDnnWinograd, RunsInAllThreeDirections) {
  if (!has_winograd()) GTEST_SKIP() << "oneDNN has no Winograd on this CPU";
  const auto steps = winograd_steps(chain(64, 16), ConvolutionAlgorithm::winograd, 8);
  for (const char* direction : {" forward", " backward weights", " backward data"}) {
    for (const char* name : {"conv2", "conv3"}) {
      EXPECT_NE(std::find(steps.begin(), steps.end(), std::string(name) + direction), steps.end())
          << name << direction;
    }
  }
}

TEST(OneDnnWinograd, IsNeverRunUnasked) {
  EXPECT_EQ(winograd_steps(chain(64, 16), ConvolutionAlgorithm::direct, 8),
            std::vector<std::string>());
}

TEST(OneDnnWinograd, IsTheAutomaticChoiceWhereItIsFaster) {
  if (!has_winograd()) GTEST_SKIP() << "oneDNN has no Winograd on this CPU";
  constexpr auto automatic = ConvolutionAlgorithm::automatic;
  EXPECT_EQ(winograd_steps(chain(64, 16), automatic, 8),
            (std::vector<std::string>{"conv2 forward", "conv3 forward", "conv3 backward weights",
                                      "conv3 backward data", "conv2 backward weights",
                                      "conv2 backward data"}));
  EXPECT_EQ(winograd_steps(chain(64, 8), automatic, 4), std::vector<std::string>()) << "few tiles";
  EXPECT_EQ(winograd_steps(chain(16, 16), automatic, 8), std::vector<std::string>()) << "narrow";
}

void expect_near(const Graph& graph, int batch, unsigned seed) {
  const Outcome direct = run(graph, ConvolutionAlgorithm::direct, batch, seed);
  const Outcome winograd = run(graph, ConvolutionAlgorithm::winograd, batch, seed);
  EXPECT_LT(relative_error(winograd.logits, direct.logits), bound);
  for (std::size_t p = 0; p < graph.parameters.size(); ++p) {
    const bool bias = graph.parameters[p].shape.size() == 1;
    EXPECT_LT(relative_error(winograd.gradients[p], direct.gradients[p]), bias ? bias_bound : bound)
        << graph.parameters[p].name;
  }
  EXPECT_NE(winograd.gradients, direct.gradients);
}

/// Without ReLUs: if an input is nearly zero, rounding decides its sign, and a single pixel changes
/// the gradients of such a small network by up to 1e-3 with any algorithm.
TEST(OneDnnWinograd, GradientsStayNearThoseOfDirectConvolution) {
  if (!has_winograd()) GTEST_SKIP() << "oneDNN has no Winograd on this CPU";
  for (const auto& [channels, pixels, batch] :
       {std::tuple{64, 16, 8}, {64, 13, 5}, {32, 32, 4}, {128, 8, 16}}) {
    const Graph graph = chain(channels, pixels, /*activations=*/false);
    for (unsigned seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(testing::Message()
                   << channels << " channels, " << pixels << " pixels, seed " << seed);
      expect_near(graph, batch, seed);
    }
  }
}

}  // namespace
}  // namespace dllaunch
