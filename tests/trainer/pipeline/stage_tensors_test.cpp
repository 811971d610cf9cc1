#include "trainer/pipeline/stage_tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tensor tensor(std::string name, std::vector<float> values) {
  Tensor made{.name = std::move(name),
              .type = DType::f32,
              .shape = {static_cast<std::int64_t>(values.size())},
              .data = std::vector<std::byte>(values.size() * sizeof(float))};
  std::memcpy(made.data.data(), values.data(), made.data.size());
  return made;
}

std::vector<std::string> names_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (const Tensor& each : tensors) names.push_back(each.name);
  return names;
}

StageWait as_stages(Peers& peers) {
  return {.place = {.stages = peers.size(), .stage = peers.rank()}, .peers = &peers};
}

TEST(DealTensors, GivesEachStageItsOwnAndLeavesTheRest) {
  std::vector<Tensor> all;
  for (const char* name : {"a0", "tied", "b1", "stray"}) all.push_back(tensor(name, {1}));
  const auto dealt = deal_tensors(all, 2, [](int stage, const std::string& name) {
    return name == "tied" || name.back() == '0' + stage;
  });
  EXPECT_THAT(names_of(dealt[0]), ElementsAre("a0", "tied"));
  EXPECT_THAT(names_of(dealt[1]), ElementsAre("tied", "b1"));
  EXPECT_EQ(dealt[0][1].data, dealt[1][0].data);
  EXPECT_THAT(names_of(all), ElementsAre("stray"));
}

TEST(StageTensors, AreTogetherOnTheFirstRank) {
  const auto stages = all_peers();
  const auto mine = static_cast<float>(stages->rank());
  const std::string name = "weight" + std::to_string(stages->rank());
  const auto all =
      gather_tensors(as_stages(*stages), {tensor("tied", {mine}), tensor(name, {mine, 7})});
  if (stages->rank() > 0) {
    EXPECT_THAT(all, IsEmpty());
    return;
  }
  ASSERT_EQ(std::ssize(all), stages->size() + 1);
  for (const Tensor& each : all) {
    float first = 0;
    std::memcpy(&first, each.data.data(), sizeof first);
    EXPECT_EQ(first, each.name == "tied" ? 0.F : static_cast<float>(each.name.back() - '0'));
  }
}

TEST(StageTensors, ComeBackToTheirStages) {
  const auto stages = all_peers();
  std::vector<std::vector<Tensor>> dealt;
  if (stages->rank() == 0) {
    for (int stage = 0; stage < stages->size(); ++stage) {
      dealt.emplace_back();
      if (stage == 1) continue;  // it gets none
      dealt.back().push_back(tensor("of" + std::to_string(stage), {static_cast<float>(stage)}));
    }
  }
  const auto own = scatter_tensors(as_stages(*stages), std::move(dealt));
  if (stages->rank() == 1) {
    EXPECT_THAT(own, IsEmpty());
  } else {
    EXPECT_THAT(names_of(own), ElementsAre("of" + std::to_string(stages->rank())));
  }
}

}  // namespace
}  // namespace dllaunch
