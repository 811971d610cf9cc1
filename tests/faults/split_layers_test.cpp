// A rank of split dense layers is killed, stopped or slow, on the real test Slurm: it is named, and
// the losses and weights are those of a training that nothing was done to.
#include "support/json_fields.hpp"
#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// fc1 has 120 columns, fc2 has 84 and fc3 has 10. A rank computes longer than it takes part in
/// exchanges. Each round hurts another one.
class SplitLayers : public SupervisedFaults {
 protected:
  SplitLayers() {
    sets_ = {"resources.nodes=3", "runtime.split_dense=[fc1,fc2,fc3]", "train.batch_size=64",
             "train.dataset.images=2048",
             // Three addends have another sum in another order.
             "runtime.bucket_mb=1"};
  }
  int hurt() const { return (GetParam() + 1) % 3; }
  std::string name() const { return fmt::format("rank {} on n{}", hurt(), hurt() + 1); }

  /// In the same allocation, from a checkpoint.
  void expect_resumed() {
    EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
                HasSubstr("Restarts=0"));
    std::vector<std::string> from;
    for (const auto& restart : events_of(work_->run_dir(), "restart"))
      from.push_back(value_at<std::string>(restart, "from"));
    EXPECT_THAT(from, Contains(HasSubstr("checkpoints/step-")));
  }
  void expect_the_losses_of_an_undisturbed_training() {
    const auto found = losses_of_epochs(work_->run_dir());
    EXPECT_EQ(found.size(), static_cast<std::size_t>(epochs_));
    EXPECT_EQ(found, undisturbed().losses);
  }
  std::string status() { return place("reader")->run({"status", work_->run_dir()}).out; }
};

TEST_P(SplitLayers, ARankOfSplitLayersIsKilled) {
  start_training();
  if (HasFailure()) return;
  kill(rank(hurt()), SIGKILL);
  const auto why = name() + " was killed by signal 9 (SIGKILL)";
  expect_healed(HasSubstr(why));
  EXPECT_THAT(journal(), HasSubstr(why + "; restart 1 of 3"));
  EXPECT_THAT(status(), HasSubstr(why));
  expect_resumed();
  expect_the_losses_of_an_undisturbed_training();
}

TEST_P(SplitLayers, ARankOfSplitLayersIsStopped) {
  start_training();
  if (HasFailure()) return;
  kill(rank(hurt()), SIGSTOP);
  expect_healed(HasSubstr("exited with code 70"));
  std::vector<std::string> lines;
  for (const auto& stall : events_of(work_->run_dir(), "stall")) lines.push_back(stall["line"]);
  // No other rank of its node could say more.
  EXPECT_THAT(lines, Contains(AllOf(
                         HasSubstr(fmt::format("no word from n{0} (rank {1})", hurt() + 1, hurt())),
                         HasSubstr("gave up"))));
  EXPECT_THAT(journal(), HasSubstr("restart 1 of 3"));
  expect_resumed();
  expect_the_losses_of_an_undisturbed_training();
}

/// Stopped for three quarters of the time, briefly: a long stop in an exchange counts as
/// communication.
TEST_P(SplitLayers, ARankOfSplitLayersIsSlow) {
  start_training();
  if (HasFailure()) return;
  const auto slow = rank(hurt());
  while (kill(slow, SIGSTOP) == 0) {
    std::this_thread::sleep_for(15ms);
    kill(slow, SIGCONT);
    std::this_thread::sleep_for(5ms);
  }
  const auto ended = work_->wait(120s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_EQ(summary()["restarts"], 0) << journal();
  EXPECT_THAT(work_->text_of("stderr") + work_->text_of("stdout"),
              testing::ContainsRegex(name() + ": computes [0-9.]+ x the median"));
  EXPECT_TRUE(weights_of(work_->run_dir()) == undisturbed().weights);
  expect_the_losses_of_an_undisturbed_training();
}

INSTANTIATE_TEST_SUITE_P(Rounds, SplitLayers, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
