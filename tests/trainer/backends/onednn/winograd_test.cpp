// Winograd's algorithm: where it runs, and how much coarser it rounds.
#include <gtest/gtest.h>

#include "tests/trainer/backends/onednn/step_names.hpp"

namespace dllaunch {
namespace {

/// Of gradients, against direct convolution; 1e-6 is what two orders of a direct sum differ by.
constexpr double bound = 2e-5;

Graph chain(int channels, int pixels) {
  GraphBuilder net("m", {3, pixels, pixels});
  net.add("conv1", Conv2d{.channels = channels, .kernel = 3, .padding = 1});
  net.add("relu1", Relu{});
  net.add("conv2", Conv2d{.channels = channels, .kernel = 3, .padding = 1});
  net.add("relu2", Relu{});
  net.add("conv3", Conv2d{.channels = 2 * channels, .kernel = 3});
  net.add("relu3", Relu{});
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

/// Elsewhere there is nothing to compare.
bool has_winograd() {
  return !winograd_steps(chain(64, 16), ConvolutionAlgorithm::winograd, 8).empty();
}

struct Outcome {
  std::vector<double> logits;
  Tensors gradients;
};

Outcome run(const Graph& graph, ConvolutionAlgorithm how, int batch) {
  Compiled compiled(backend_named("onednn"), graph, with(how, batch));
  compiled.set_weights(random_weights(graph));
  compiled->forward(Images(graph, batch).batch(), Phase::train);
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

TEST(OneDnnWinograd, GradientsStayNearThoseOfDirectConvolution) {
  if (!has_winograd()) GTEST_SKIP() << "oneDNN has no Winograd on this CPU";
  for (const auto& [channels, pixels, batch] :
       {std::tuple{64, 16, 8}, {64, 13, 5}, {32, 32, 4}, {128, 8, 16}}) {
    SCOPED_TRACE(testing::Message() << channels << " channels, " << pixels << " pixels");
    const Graph graph = chain(channels, pixels);
    const Outcome direct = run(graph, ConvolutionAlgorithm::direct, batch);
    const Outcome winograd = run(graph, ConvolutionAlgorithm::winograd, batch);
    EXPECT_LT(relative_error(winograd.logits, direct.logits), bound);
    expect_close(graph, winograd.gradients, direct.gradients, bound);
    EXPECT_NE(winograd.gradients, direct.gradients);
  }
}

}  // namespace
}  // namespace dllaunch
