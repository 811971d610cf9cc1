#include "launcher/supervise/node_fitness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Of three nodes; `bad`: who fails that check.
PreflightReport report(const std::vector<std::string>& bad, const std::string& check = "clock") {
  PreflightReport all{.seconds = 1};
  for (const char* name : {"n1", "n2", "n3"}) {
    NodeVerdict node{.node = name};
    node.checks.push_back({.name = "memory", .level = Level::warn, .why = "little"});
    if (std::find(bad.begin(), bad.end(), name) != bad.end()) {
      node.ok = false;
      node.checks.push_back(
          {.name = check, .item = "it", .level = Level::fail, .why = "95.0 s behind"});
      all.exclude.emplace_back(name);
    }
    all.nodes.push_back(node);
  }
  return all;
}

struct Looks {
  std::vector<PreflightReport> reports;
  std::size_t looked = 0;

  Result<NodeFitness> judged() {
    return judge_fitness({.job_id = "17", .hosts = {"n1", "n2", "n3"}},
                         [this](const auto&) -> Result<PreflightReport> {
                           if (looked == reports.size())
                             return Error{ErrorKind::unavailable, "no srun", ""};
                           return reports[looked++];
                         });
  }
};

TEST(NodeFitness, AllWellIsSeenAtOnce) {
  Looks looks{{report({})}};
  const auto fitness = looks.judged();
  ASSERT_TRUE(fitness);
  EXPECT_THAT(fitness->fit, ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(fitness->unfit, IsEmpty());
  EXPECT_EQ(fitness->why, "");
  EXPECT_EQ(looks.looked, 1U);
}

TEST(NodeFitness, WhoFailsTwiceIsOut) {
  Looks looks{{report({"n2", "n3"}), report({"n1", "n2"})}};
  const auto fitness = looks.judged();
  ASSERT_TRUE(fitness);
  EXPECT_THAT(fitness->fit, ElementsAre("n1", "n3"));
  EXPECT_THAT(fitness->unfit, ElementsAre("n2"));
  EXPECT_EQ(fitness->why, "n2: clock (it): 95.0 s behind");
  EXPECT_EQ(fitness->seconds, 2);
}

TEST(NodeFitness, WhoDoesNotAnswerHasHadItsTime) {
  Looks looks{{report({"n3"}, "answer")}};
  const auto fitness = looks.judged();
  ASSERT_TRUE(fitness);
  EXPECT_THAT(fitness->unfit, ElementsAre("n3"));
  EXPECT_EQ(looks.looked, 1U);
}

TEST(NodeFitness, WhatWasNotFoundOutIsAnError) {
  Looks nothing;
  EXPECT_FALSE(nothing.judged());
  Looks half{{report({"n2"})}};
  EXPECT_FALSE(half.judged()) << "once is not enough";
}

TEST(NodeFitness, WhoIsGoneIsOutAndNamedOnce) {
  NodeFitness fitness{.fit = {"n1", "n2"}, .unfit = {"n3"}, .why = "n3: folders: gone"};
  leave_out({"n2", "n3"}, slurm_lost_it, fitness);
  EXPECT_THAT(fitness.fit, ElementsAre("n1"));
  EXPECT_THAT(fitness.unfit, ElementsAre("n3", "n2"));
  EXPECT_EQ(fitness.why, "n3: folders: gone; n2: Slurm reports it lost");
  leave_out({}, slurm_lost_it, fitness);
  EXPECT_THAT(fitness.fit, ElementsAre("n1"));
}

}  // namespace
}  // namespace dllaunch
