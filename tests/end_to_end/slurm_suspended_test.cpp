// Jobs that Slurm suspends (scontrol suspend, gang scheduling): nothing runs, so nothing is late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Ranks that give up after 8 s without progress are suspended for this time.
constexpr std::chrono::seconds suspended_for = 12s;

class SlurmSuspended : public OnTestCluster, public UnderBothTrackers {
 protected:
  static void SetUpTestSuite() { start_cluster({"--nodes", "2", "--cpus", "2"}); }
  void arrange() override { training_.before = work_->before = cluster_->login(); }
  void TearDown() override {
    if (!work_) return;
    work_->wait(0s);
    training_.wait(0s);
    cluster_->on_head({"scancel", "--user=root"});
  }

  static void start(Workplace& work, const std::string& what) {
    const auto job =
        work.file("job.yaml",
                  "name: paused\n"
                  "resources: {nodes: 2, ranks_per_node: 1, cpus_per_rank: 1, device: cpu, "
                  "time: 5, exclusive: false}\n"
                  "runtime: {stall_seconds: 4, stall_abort_seconds: 8}\n"
                  "recovery: {max_restarts: 1}\n" +
                      what);
    work.start({"run", job, "--run-dir", work.run_dir()});
  }
  static std::string state_of(const Workplace& work) {
    return cluster_->on_head({"squeue", "--noheader", "--format=%T", "--job=" + work.job_id()});
  }

  Workplace training_ = Workplace(cluster_ ? cluster_->share() + "/training" : "/nonexistent");
};

TEST_P(SlurmSuspended, GoOnAndCountThePauseNowhere) {
  start(*work_, R"(run:
  - bash
  - -c
  - |
    until [ -e end ]; do echo a line; sleep 0.2; done
)");
  start(training_, R"(train:
  model: lenet
  dataset: {kind: synthetic, images: 256}
  batch_size: 8
  epochs: 1000000
  checkpoint: {every_epochs: 1000000}
)");
  const auto steps = [&] { return events_of(training_.run_dir(), "step").size(); };
  ASSERT_TRUE(happens_within(
      60s, [&] { return steps() > 20 && !work_->text_of("run/out/rank-0001-n2.log").empty(); }))
      << work_->text_of("stderr") << training_.text_of("stderr");

  for (const auto* work : {work_.get(), &training_})
    cluster_->on_head({"scontrol", "suspend", work->job_id()});
  EXPECT_TRUE(happens_within(
      10s, [&] { return state_of(*work_) == "SUSPENDED" && state_of(training_) == "SUSPENDED"; }));
  Workplace other(cluster_->share() + "/status");
  other.before = work_->before;
  EXPECT_THAT(other.run({"status", work_->run_dir()}).out, HasSubstr("paused: suspended"));
  std::this_thread::sleep_for(suspended_for);
  for (const auto* work : {work_.get(), &training_})
    cluster_->on_head({"scontrol", "resume", work->job_id()});

  const auto before = steps();
  EXPECT_TRUE(happens_within(30s, [&] { return steps() > before + 20; }));
  const auto pauses = events_of(training_.run_dir(), "pause");
  ASSERT_EQ(pauses.size(), 1u);
  EXPECT_GT(pauses[0]["seconds"].get<double>(), 0.8 * suspended_for.count());
  EXPECT_THAT(events_of(training_.run_dir(), "stall"), IsEmpty());
  std::ofstream(work_->path() + "/end");
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  for (const auto* work : {work_.get(), &training_}) {
    const auto journal = work->text_of("run/supervisor.jsonl");
    EXPECT_THAT(journal, Not(HasSubstr("restart"))) << journal;
  }
  EXPECT_TRUE(training_.running());
  EXPECT_EQ(other.run({"cancel", training_.run_dir()}).exit_code, 0);
  training_.wait(60s);
}

INSTANTIATE_TEST_SUITE_P(Linuxproc, SlurmSuspended, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Cgroup, SlurmSuspended, testing::Values(0));

}  // namespace
}  // namespace dllaunch
