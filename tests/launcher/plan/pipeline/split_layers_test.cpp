#include "launcher/plan/pipeline/split_layers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

SplitPlan split_for(int ranks) {
  Job job = train_job();
  job.runtime["split_dense"] = {"fc6", "fc7"};
  job.resources.ranks_per_node = ranks;
  const auto split = split_of(planned(job, one_machine("cores:4")));
  EXPECT_TRUE(split);
  return *split;
}

const std::string answer = R"({"layers": [
    {"name": "fc6", "columns": 4096, "of_rank": 2048},
    {"name": "fc7", "columns": 4096, "of_rank": 2048}],
    "held_bytes": 505413632, "whole_bytes": 998244352, "activation_bytes": 104857600})";

TEST(SplitLayersPlan, IsOfJobsWithTheKey) {
  EXPECT_EQ(split_for(2).ranks, 2);
  EXPECT_FALSE(split_of(planned(train_job(), one_machine("cores:4"))));
}

TEST(SplitLayersPlan, SaysWhatARankHolds) {
  SplitPlan split = split_for(2);
  split.memory_bytes.reset();
  read_split(answer, split);
  EXPECT_EQ(render_split(split),
            "\n  split dense layers: fc6 (2048 of 4096 columns), fc7 (2048 of 4096 columns)\n"
            "  each of 2 ranks holds about 482.0 MiB of weights, gradients and optimiser state in "
            "place of 952.0 MiB, and 100.0 MiB of activations\n");
  const Json document = to_json(split);
  EXPECT_EQ(document["held_bytes"], 505'413'632);
  EXPECT_EQ(document["layers"][0]["of_rank"], 2048);
  EXPECT_EQ(document["warnings"], Json::array());
}

TEST(SplitLayersPlan, WarnsOfWhatDoesNotFit) {
  SplitPlan split = split_for(2);
  read_split(answer, split);
  split.memory_bytes = 500'000'000;
  EXPECT_THAT(render_split(split), HasSubstr("each rank needs about 582.0 MiB, and has 476.8 MiB"));
  split.memory_bytes = 700'000'000;
  EXPECT_THAT(warnings_of(split), IsEmpty());
  EXPECT_THAT(render_split(split_for(1)), HasSubstr("there is one rank"));
}

TEST(SplitLayersPlan, AnswersMayBeAnything) {
  for (const char* text :
       {"", "[]", "{}", "null", R"({"layers": 3, "held_bytes": 1})",
        R"({"layers": [], "held_bytes": -1, "whole_bytes": 1, "activation_bytes": 1})",
        R"({"layers": [], "held_bytes": 1, "whole_bytes": 1, "activation_bytes": 9e18})",
        R"({"layers": [{"name": "a", "columns": 1, "of_rank": 2}], "held_bytes": 1,
            "whole_bytes": 1, "activation_bytes": 1})",
        R"({"layers": [{"name": "", "columns": 1, "of_rank": 1}], "held_bytes": 1,
            "whole_bytes": 1, "activation_bytes": 1})"}) {
    SplitPlan split = split_for(2);
    read_split(text, split);
    EXPECT_THAT(split.unknown, Not(IsEmpty())) << text;
    EXPECT_THAT(render_split(split), HasSubstr("is not known: the trainer's answer"));
  }
  SplitPlan split = split_for(2);
  read_split(R"({"unknown": "no such file"})", split);
  EXPECT_EQ(to_json(split)["unknown"], "no such file");
}

/// Texts that are cut off, or have other bytes in them, are understood or not, and nothing else.
TEST(SplitLayersPlan, AnyTextIsRead) {
  std::mt19937 random(3);
  const SplitPlan asked = split_for(2);
  for (std::size_t length = 0; length <= answer.size(); ++length) {
    for (int round = 0; round < 3; ++round) {
      std::string text = answer.substr(0, round == 0 ? length : answer.size());
      if (round > 0 && length < text.size()) {
        constexpr std::string_view bytes = "9-e{}[]\",:x\xff";
        text[length] = bytes[random() % bytes.size()];
      }
      SplitPlan split = asked;
      read_split(text, split);
      EXPECT_TRUE(split.unknown.empty() || split.whole_bytes == 0) << text;
      EXPECT_FALSE(render_split(split).empty());
    }
  }
}

}  // namespace
}  // namespace dllaunch
