#include "launcher/sweep/space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JobSweep sweep_of(const std::string& parameters, const std::string& sampler = "random") {
  return {.parameters = Json::parse(parameters), .sampler = sampler};
}

std::string refusal_of(const std::string& parameters, const std::string& sampler = "random") {
  const auto space = read_space(sweep_of(parameters, sampler));
  return space ? "" : space.error().what;
}

TEST(Space, BadOnesSayWhatIsWrong) {
  EXPECT_THAT(refusal_of("{}"), HasSubstr("nothing to try"));
  EXPECT_THAT(refusal_of("null"), HasSubstr("nothing to try"));
  EXPECT_EQ(refusal_of(R"({"a": {}})"), "sweep.parameters.a has no range");
  EXPECT_EQ(refusal_of(R"({"a": {"log": [1, 2], "choice": [1]}})"),
            "sweep.parameters.a has two ranges");
  EXPECT_EQ(refusal_of(R"({"a": {"linear": [2, 2]}})"),
            "sweep.parameters.a is empty: 2 is not below 2");
  EXPECT_EQ(refusal_of(R"({"a": {"log": [0, 2]}})"),
            "sweep.parameters.a is logarithmic and begins at 0");
  EXPECT_EQ(refusal_of(R"({"a": {"choice": [3, 3]}})"),
            "sweep.parameters.a has the choice 3 twice");
  EXPECT_EQ(refusal_of(R"({"a": {"choice": []}})"), "sweep.parameters.a has no choices");
  for (const char* far :
       {R"({"a": {"linear": [-1.7e308, 1.7e308]}})", R"({"a": {"int": [0, 9223372036854775807]}})"})
    EXPECT_THAT(refusal_of(far), HasSubstr("too far apart"));
  EXPECT_THAT(refusal_of(R"({"a": {"choice": [")" + std::string(20000, 'x') + R"("]}})"),
              HasSubstr("16 KiB"));
  EXPECT_EQ(refusal_of(R"({"a": {"linear": [0, 1]}})", "grid"),
            "sweep.parameters.a has no steps:, which a grid needs");
  EXPECT_EQ(refusal_of(R"({"a": {"int": [0, 1]}, "b": {"choice": ["x"]}})", "grid"), "");
}

TEST(Space, RandomValuesLieInTheirRanges) {
  const auto space = *read_space(sweep_of(
      R"({"lr": {"log": [0.001, 0.1]}, "m": {"linear": [0.5, 0.9]}, "n": {"int": [-1, 2]},
          "c": {"choice": ["a", null, 3]}})"));
  std::set<std::int64_t> whole;
  std::set<std::string> choices;
  int small = 0;
  for (int i = 0; i < 400; ++i) {
    const Json values = random_values(space, i, 1);
    ASSERT_TRUE(values["lr"] >= 0.001 && values["lr"] <= 0.1);
    ASSERT_TRUE(values["m"] >= 0.5 && values["m"] <= 0.9);
    small += values["lr"] < 0.01 ? 1 : 0;
    whole.insert(values["n"].get<std::int64_t>());
    choices.insert(values["c"].dump());
  }
  EXPECT_NEAR(small, 200, 4) << "half of them below the middle of a logarithmic range";
  EXPECT_THAT(whole, ElementsAre(-1, 0, 1, 2));
  EXPECT_EQ(choices.size(), 3U);
  EXPECT_EQ(random_values(space, 7, 1), random_values(space, 7, 1));
  EXPECT_NE(random_values(space, 7, 1), random_values(space, 7, 2));
}

TEST(Space, AGridHasEveryCombinationOnce) {
  auto sweep = sweep_of(
      R"({"lr": {"log": [0.01, 1], "steps": 3}, "n": {"int": [1, 9], "steps": 3},
          "all": {"int": [1, 2]}, "c": {"choice": ["a", "b"]}})",
      "grid");
  const auto space = *read_space(sweep);
  ASSERT_EQ(grid_size(space), 36);
  std::set<std::string> seen;
  for (int i = 0; i < 36; ++i) seen.insert(grid_values(space, i).dump());
  EXPECT_EQ(seen.size(), 36U);
  EXPECT_EQ(grid_values(space, 35)["lr"], 1);
  EXPECT_NEAR(grid_values(space, 1)["lr"], 0.1, 1e-12);
  EXPECT_EQ(grid_values(space, 3)["n"], 5);
  sweep.parameters = Json::parse(R"({"a": {"int": [1, 400]}, "b": {"int": [1, 400]}})");
  EXPECT_EQ(grid_size(*read_space(sweep)), std::nullopt);
  sweep.parameters = Json::parse(R"({"a": {"linear": [3, 4], "steps": 1}})");
  EXPECT_EQ(grid_values(*read_space(sweep), 0)["a"], 3);
}

TEST(Space, ExtremesAreTheEndsOrAllChoices) {
  const auto space =
      *read_space(sweep_of(R"({"a": {"int": [1, 4]}, "c": {"choice": ["x", true, null]}})"));
  EXPECT_THAT(extremes_of(space[0]), ElementsAre(Json(1), Json(4)));
  EXPECT_EQ(extremes_of(space[1]).size(), 3U);
}

}  // namespace
}  // namespace dllaunch
