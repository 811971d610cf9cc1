// Jobs whose ranks go on with fewer nodes, on the real test Slurm: the loss is that of a run that
// keeps its nodes, and each image is seen once an epoch.
#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// By step, of the newest attempt at each; steps are told by the clock.
std::map<std::int64_t, double> losses(const std::string& run_dir) {
  std::map<std::int64_t, double> all;
  for (const auto& step : events_of(run_dir, "step")) all[step["step"]] = step["loss"];
  return all;
}

class ElasticNodes : public SupervisedFaults {
 protected:
  static std::vector<std::string> sets(int epochs) {
    return {"resources.nodes=2-3", fmt::format("train.epochs={}", epochs)};
  }
  /// Kills n3, which has the last rank, under the ranks.
  void lose_a_node() {
    const auto dying = rank(2);
    // Else its peers would end before Slurm knows why.
    kill(dying, SIGSTOP);
    for (const char* name : {"slurmd", "slurmstepd"})
      cluster_->on_node("n3", {"pkill", "-KILL", name});
    lose("n3");
    kill(dying, SIGKILL);
  }
  void expect_ranks(const testing::Matcher<std::vector<int>>& ranks) const {
    std::vector<int> seen;
    for (const auto& start : events_of(work_->run_dir(), "start")) {
      seen.push_back(start["ranks"]);
      EXPECT_EQ(start["global_batch"], 24);
    }
    EXPECT_THAT(seen, ranks) << journal();
  }
  void expect_the_losses_of_a_run_with_all_nodes(int epochs) {
    const auto whole = place("all-nodes");
    whole->start(argv(*whole, training, sets(epochs)));
    EXPECT_EQ(whole->wait(180s).exit_code, 0);
    const auto expected = losses(whole->run_dir());
    const auto found = losses(work_->run_dir());
    int both = 0;
    for (const auto& [step, loss] : expected) {
      if (!found.contains(step)) continue;
      ++both;
      EXPECT_NEAR(found.at(step), loss, 1e-3) << step;
    }
    EXPECT_GT(both, epochs);
  }
};

TEST_P(ElasticNodes, TheRanksGoOnWithoutALostNode) {
  start_training(sets(5));
  if (HasFailure()) return;
  lose_a_node();
  const auto ended = work_->wait(120s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("lost node n3; restart 1 of 3"));
  EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
              HasSubstr("Restarts=0"));
  expect_ranks(ElementsAre(3, 2));
  EXPECT_EQ(steps_in_history(work_->run_dir()), 5 * 43);
  expect_the_losses_of_a_run_with_all_nodes(5);
}

/// Slurm gives a job that it starts anew all nodes that are free.
TEST_P(ElasticNodes, ARequeuedJobHasAllNodesAgain) {
  constexpr int epochs = 40;
  start_training(sets(epochs));
  if (HasFailure()) return;
  lose_a_node();
  ASSERT_TRUE(happens_within(60s, [&] { return events_of(work_->run_dir(), "start").size() == 2; }))
      << journal();
  cluster_->tell("kill-node", {"n3"});
  ASSERT_TRUE(cluster_->tell("revive-node", {"n3"}));
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  const auto ended = work_->wait(300s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  expect_ranks(ElementsAre(3, 2, 3));
  expect_the_losses_of_a_run_with_all_nodes(epochs);
}

INSTANTIATE_TEST_SUITE_P(Rounds, ElasticNodes, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
