// Jobs whose ranks go on with fewer nodes, on the real test Slurm: the loss is that of a run that
// keeps its nodes, and each image is seen once an epoch.
#include <sstream>

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

/// Each round loses another node, in another way, after another number of steps.
class ElasticNodes : public SupervisedFaults {
 protected:
  std::vector<std::string> sets(int epochs) const {
    return {"resources.nodes=2-3", fmt::format("train.epochs={}", epochs),
            fmt::format("train.seed={}", 1 + GetParam())};
  }
  /// Not n1, which has the job's script.
  int lost_rank() const { return GetParam() % 2 == 0 ? 2 : 1; }
  std::string lost_node() const { return fmt::format("n{}", lost_rank() + 1); }

  /// Under the ranks: first its daemons, or all its processes at once.
  void lose_a_node() {
    const auto steps = static_cast<std::size_t>(3 * GetParam());
    EXPECT_TRUE(
        happens_within(60s, [&] { return events_of(work_->run_dir(), "step").size() > steps; }));
    if (GetParam() % 3 == 1) {
      EXPECT_TRUE(cluster_->tell("kill-node", {lost_node()}));
      lose(lost_node());
      return;
    }
    const auto dying = rank(lost_rank());
    // Else its peers would end before Slurm knows why.
    kill(dying, SIGSTOP);
    for (const char* name : {"slurmd", "slurmstepd"})
      cluster_->on_node(lost_node(), {"pkill", "-KILL", name});
    lose(lost_node());
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
  void expect_it_told_of_fewer_ranks() {
    EXPECT_EQ(summary()["ranks"], 2);
    EXPECT_EQ(summary()["planned_ranks"], 3);
    const auto reader = place("reader");
    EXPECT_THAT(reader->run({"status", work_->run_dir()}).out,
                HasSubstr("2 on 2 of 3 nodes, at least 2"));
    EXPECT_THAT(reader->run({"report", work_->run_dir()}).out, HasSubstr("ranks 3, then 2"));
    // The node book has the lost node and the time of the others.
    const auto forecast = work_->run({"report", work_->run_dir(), "--failures", "book"});
    EXPECT_THAT(forecast.out, HasSubstr("node book: 1 failure in ")) << forecast.err;
    // Of 2 cores each.
    const double most = 3 * 2 * summary()["seconds"].get<double>() / 3600;
    EXPECT_LT(summary()["core_hours"], most);
    EXPECT_GT(summary()["core_hours"], most * 2 / 3);
  }
  void expect_the_losses_of_a_run_with_all_nodes(int epochs) {
    const auto whole = place(fmt::format("all-nodes-{}-{}", GetParam(), epochs));
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
  start_training(sets(epochs_));
  if (HasFailure()) return;
  lose_a_node();
  const auto ended = work_->wait(120s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("lost node " + lost_node() + "; restart 1 of 3"));
  EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
              HasSubstr("Restarts=0"));
  expect_ranks(ElementsAre(3, 2));
  expect_it_told_of_fewer_ranks();
  EXPECT_EQ(steps_in_history(work_->run_dir()), epochs_ * 43);
  expect_the_losses_of_a_run_with_all_nodes(epochs_);
}

/// Peers of a node that lost its power end before Slurm misses it, in 300 s. Nothing waits for
/// that, and Slurm completes the job then.
TEST_P(ElasticNodes, TheRanksGoOnBeforeSlurmMissesTheNode) {
  set_slurmd_timeout(300);
  start_training(sets(epochs_));
  if (!HasFailure()) {
    EXPECT_TRUE(cluster_->tell(GetParam() % 2 == 0 ? "kill-node" : "cut-network", {lost_node()}));
    EXPECT_TRUE(happens_within(120s, [&] {
      return events_of(work_->run_dir(), "start").size() == 2;
    })) << journal();
    EXPECT_THAT(cluster_->on_head({"scontrol", "show", "node", lost_node()}),
                testing::Not(HasSubstr("State=DOWN")));
    EXPECT_THAT(journal(), HasSubstr("lost node " + lost_node() + "; restart 1 of 3"));
    const auto ended = work_->wait(120s);
    EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
    EXPECT_THAT(ended.err, HasSubstr("has ended; Slurm still waits for " + lost_node()));
    lose(lost_node());
  }
  set_slurmd_timeout(10);
}

/// Slurm gives a job that it starts anew all nodes that are free.
TEST_P(ElasticNodes, ARequeuedJobHasAllNodesAgain) {
  const int epochs = epochs_ * 8;
  start_training(sets(epochs));
  if (HasFailure()) return;
  lose_a_node();
  ASSERT_TRUE(happens_within(60s, [&] { return events_of(work_->run_dir(), "start").size() == 2; }))
      << journal();
  cluster_->tell("kill-node", {lost_node()});
  ASSERT_TRUE(cluster_->tell("revive-node", {lost_node()}));
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  const auto ended = work_->wait(300s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  expect_ranks(ElementsAre(3, 2, 3));
  expect_the_losses_of_a_run_with_all_nodes(epochs);
}

/// A program that keeps its own checkpoint is started again as one of fewer ranks.
TEST_P(ElasticNodes, ACommandGoesOnFromItsOwnCheckpoint) {
  const auto folder = work_->path();
  work_->file("work", R"(cd "$1"
done=$(cat checkpoint 2> /dev/null || echo 0)
[ "$done" -gt 0 ] && resumed=yes || resumed=no
echo "$WORLD_SIZE $RANK $NODE_RANK $resumed" >> starts
while [ "$done" -lt 100 ]; do
  [ "$resumed" = yes ] || [ "$done" -lt 50 ] || sleep 600  # until its node is lost
  sleep 0.05
  done=$((done + 1))
  [ "$RANK" != 0 ] || { echo "$done" > new && mv new checkpoint; }
done
)");
  work_->start(argv(*work_, fmt::format(R"(name: command
resources: {{nodes: 2-3, ranks_per_node: 1, device: cpu, time: 10}}
run: [bash, {0}/work, {0}]
)",
                                        folder)));
  const auto all = [&] { return work_->text_of("starts"); };
  ASSERT_TRUE(happens_within(60s, [&] {
    return std::ranges::count(all(), '\n') == 3 && !work_->text_of("checkpoint").empty();
  })) << all();
  ASSERT_TRUE(cluster_->tell("kill-node", {lost_node()}));
  lose(lost_node());
  const auto ended = work_->wait(90s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  std::multiset<std::string> starts;
  std::istringstream lines(all());
  for (std::string line; std::getline(lines, line);) starts.insert(line);
  EXPECT_THAT(starts, ElementsAre("2 0 0 yes", "2 1 1 yes", "3 0 0 no", "3 1 1 no", "3 2 2 no"));
  EXPECT_EQ(work_->text_of("checkpoint"), "100\n");
  expect_it_told_of_fewer_ranks();
}

INSTANTIATE_TEST_SUITE_P(Rounds, ElasticNodes, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
