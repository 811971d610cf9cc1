#include "trainer/graph/zero_gamma.hpp"

#include <gtest/gtest.h>

#include "trainer/models/models.hpp"
#include "trainer/models/resnet50.hpp"

namespace dllaunch {

extern const ModelEntry resnet50v2_model;

namespace {

TEST(ZeroGamma, IsOfTheLastNormalisationOfEveryBlock) {
  auto graph = build_resnet50("resnet50", {3, 64, 64}, 10);
  ASSERT_TRUE(graph);
  ASSERT_TRUE(zero_last_gammas(*graph));
  int zeroed = 0;
  for (const Parameter& parameter : graph->parameters) {
    const bool last = parameter.name.ends_with(".bn3.weight");
    if (parameter.name.ends_with("weight")) {
      EXPECT_EQ(parameter.initial == Initial::zeros, last) << parameter.name;
    }
    zeroed += last ? 1 : 0;
  }
  EXPECT_EQ(zeroed, 3 + 4 + 6 + 3);
}

TEST(ZeroGamma, IsRefusedWhereNoBlockEndsWithOne) {
  auto graph = resnet50v2_model.build({3, 64, 64}, 10);
  ASSERT_TRUE(graph);
  const auto refused = zero_last_gammas(*graph);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "zero_gamma: no block of model resnet50v2 ends with batch normalisation");
}

}  // namespace
}  // namespace dllaunch
