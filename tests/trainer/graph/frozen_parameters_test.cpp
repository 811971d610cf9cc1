#include "trainer/graph/frozen_parameters.hpp"

#include <gtest/gtest.h>

#include "trainer/models/resnet50.hpp"

namespace dllaunch {
namespace {

Graph resnet() {
  return *build_resnet50("resnet50", {3, 64, 64}, 10);
}

TEST(FrozenParameters, AreThoseThatAreNamed) {
  Graph graph = resnet();
  ASSERT_TRUE(freeze_parameters(graph, std::vector<std::string>{"conv1", "layer?"}));
  for (const Parameter& parameter : graph.parameters) {
    const bool expected =
        parameter.name.starts_with("layer") || parameter.name.starts_with("conv1.");
    EXPECT_EQ(parameter.frozen, expected) << parameter.name;
  }
}

TEST(FrozenParameters, AreAllButTheClassifier) {
  Graph graph = resnet();
  ASSERT_TRUE(freeze_parameters(graph, std::vector<std::string>{"!fc"}));
  EXPECT_EQ(graph.parameter_count() - frozen_count(graph), 2048 * 10 + 10);
}

TEST(FrozenParameters, AreNoneWithoutPatterns) {
  Graph graph = resnet();
  ASSERT_TRUE(freeze_parameters(graph, {}));
  EXPECT_EQ(frozen_count(graph), 0);
}

TEST(FrozenParameters, AMistakeIsNamedWithWhatThereIs) {
  Graph graph = resnet();
  const auto refused =
      freeze_parameters(graph, std::vector<std::string>{"layer1", "layr2", "bn1.running_mean"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "freeze: no parameter of model resnet50 is called layr2 or bn1.running_mean");
  EXPECT_EQ(refused.error().hint, "they begin with conv1, bn1, layer1, layer2, layer3, layer4, fc");
  EXPECT_EQ(frozen_count(graph), 0);
}

TEST(FrozenParameters, SomethingIsLeftToTrain) {
  Graph graph = resnet();
  const auto refused = freeze_parameters(graph, std::vector<std::string>{"*"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "freeze: no parameter of model resnet50 is left to train");
}

}  // namespace
}  // namespace dllaunch
