// What goes wrong on a cluster, done to a real Slurm: each fault ends in the right words and exit
// code. n2 differs from n1: one CPU less, and the feature "big".
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class SlurmFaults : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--cpus", "2", "--user", "alice", "--odd-node",
                   "n2:cpus=1,feature=big",
                   // A step that uses more memory than its job asked for is ended by Slurm itself.
                   "--conf", "JobAcctGatherParams=OverMemoryKill", "--conf",
                   "SelectTypeParameters=CR_Core_Memory"});
  }
  void TearDown() override {
    if (!work_) return;
    work_->wait(0s);
    cluster_->on_head({"scancel", "--user=root"});
    cluster_->on_head({"scancel", "--user=alice"});
    EXPECT_TRUE(happens_within(30s, [&] { return queue().empty(); })) << queue();
  }

  static std::string queue() { return cluster_->on_head({"squeue", "--noheader"}); }

  std::vector<std::string> args(const std::string& command, std::vector<std::string> sets = {}) {
    const auto file = work_->file("job.yaml",
                                  "name: fault\n"
                                  "resources: {device: cpu, time: 5}\n"
                                  "run: " +
                                      command + "\n");
    std::vector<std::string> all = {"run", file, "--run-dir", work_->run_dir()};
    for (auto& set : sets) all.insert(all.end(), {"--set", std::move(set)});
    return all;
  }
  Ended run(const std::string& command, const std::vector<std::string>& sets = {}) {
    work_->start(args(command, sets));
    return work_->wait(90s);
  }
  /// From here on the job is an ordinary user's.
  void as_alice() {
    std::filesystem::permissions(work_->path(), std::filesystem::perms::all);
    work_->before = cluster_->login("alice");
  }
  static void preempt() {
    cluster_->on_head({"sbatch", "--partition=high", "--nodelist=n1", "--exclusive",
                       "--output=/dev/null", "--wrap", "sleep 1"});
  }
  bool is_said(const std::string& message) {
    const auto said = [&] { return work_->text_of("stderr").find(message) != std::string::npos; };
    return happens_within(40s, [&] { return said() || !work_->running(); }) && said();
  }
  std::string job() {
    auto text = work_->text_of("run/job.id");
    return text.substr(0, text.find('\n'));
  }
  std::string status() {
    const auto summary = Json::parse(work_->text_of("run/summary.json"), nullptr, false);
    return summary.is_object() ? summary.value("status", "none") : "no summary";
  }

  /// What other commands say meanwhile: each asks Slurm for itself, all at the same time.
  void expect_words_without_slurm() {
    Workplace other[] = {Workplace(cluster_->share() + "/status"),
                         Workplace(cluster_->share() + "/cancel"),
                         Workplace(cluster_->share() + "/refused")};
    for (auto& place : other) place.before = cluster_->login();
    other[0].start({"status", work_->run_dir()});
    other[1].start({"cancel", work_->run_dir()});
    other[2].start({"run", other[2].file("job.yaml", "name: a\nrun: hostname\n"), "--run-dir",
                    other[2].run_dir()});
    const auto told = other[0].wait();
    EXPECT_EQ(told.exit_code, 0) << told.err;
    EXPECT_THAT(told.out, HasSubstr("fault: unknown: Slurm does not answer"));
    const auto kept = other[1].wait();
    EXPECT_EQ(kept.exit_code, 3) << kept.err;
    EXPECT_THAT(kept.err, HasSubstr("Slurm does not answer: nothing was cancelled"));
    const auto refused = other[2].wait();
    EXPECT_EQ(refused.exit_code, 3) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("Slurm is configured here, but"));
  }
};

constexpr const char* is_running = "running on n";

TEST_F(SlurmFaults, NoNodesAreLeft) {
  const auto excluded = run("hostname", {"resources.exclude=n[1-2]"});
  EXPECT_EQ(excluded.exit_code, 3);
  EXPECT_THAT(excluded.err, HasSubstr("resources.exclude"));
  const auto constrained = run("hostname", {"resources.constraint=gpu80g"});
  EXPECT_EQ(constrained.exit_code, 3);
  EXPECT_THAT(constrained.err, HasSubstr("resources.constraint"));
  EXPECT_EQ(queue(), "");
}

TEST_F(SlurmFaults, ExcludeAndConstraintChooseTheNode) {
  const auto excluded = run("hostname", {"resources.exclude=n1"});
  EXPECT_EQ(excluded.exit_code, 0) << excluded.err;
  EXPECT_THAT(excluded.err, HasSubstr("n2\n"));
  const auto constrained =
      run("hostname", {"resources.constraint=big", "resources.ranks_per_node=1"});
  EXPECT_EQ(constrained.exit_code, 0) << constrained.err;
  EXPECT_THAT(constrained.err, HasSubstr("n2\n"));
}

/// Slurm counts two CPUs on n1 and one on n2; each rank binds on the node it gets.
TEST_F(SlurmFaults, NodesThatDifferInOneJob) {
  const auto ended = run("[bash, -c, 'echo at $(hostname) $RANK $WORLD_SIZE']",
                         {"resources.nodes=2", "resources.ranks_per_node=1"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("at n1 0 2"));
  EXPECT_THAT(ended.err, HasSubstr("at n2 1 2"));
  EXPECT_THAT(ended.err, HasSubstr("nodes of partition batch differ"));
}

TEST_F(SlurmFaults, AReservationThatIsNotThere) {
  const auto ended = run("hostname", {"resources.reservation=nope"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.err, HasSubstr("eservation"));
  EXPECT_THAT(ended.err, AnyOf(HasSubstr("nope"), HasSubstr("invalid")));
}

TEST_F(SlurmFaults, AReservationThatBeginsLaterAndOneThatIsActive) {
  cluster_->on_head({"scontrol", "create", "reservation", "reservationname=ours",
                     "starttime=now+1hour", "duration=60", "users=root", "nodes=n1"});
  work_->start(args("hostname", {"resources.reservation=ours"}));
  EXPECT_TRUE(is_said("waiting for its reservation to begin")) << work_->text_of("stderr");
  cluster_->on_head({"scontrol", "update", "reservationname=ours", "starttime=now"});
  const auto ended = work_->wait(60s);
  cluster_->on_head({"scontrol", "delete", "reservationname=ours"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("n1\n"));
}

TEST_F(SlurmFaults, ADependencyThatFailedIsNotWaitedForForEver) {
  const auto before =
      cluster_->on_head({"sbatch", "--parsable", "--output=/dev/null", "--wrap", "exit 3"});
  const auto ended =
      run("hostname", {"resources.sbatch_extra=[--dependency=afterok:" + before + "]"});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("it will never start"));
  EXPECT_EQ(status(), "cancelled");
}

TEST_F(SlurmFaults, CancelledInTheQueueByOthers) {
  work_->start(args("hostname", {"resources.sbatch_extra=[--begin=now+1hour]"}));
  EXPECT_TRUE(is_said("waiting for its start time")) << work_->text_of("stderr");
  cluster_->on_head({"scancel", job()});
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("was cancelled"));
  EXPECT_EQ(status(), "cancelled");
}

TEST_F(SlurmFaults, APreemptedJobComesBack) {
  work_->start(
      args("[bash, -c, '((SLURM_RESTART_COUNT > 0)) || sleep 300']", {"resources.exclude=n2"}));
  ASSERT_TRUE(is_said(is_running)) << work_->text_of("stderr");
  preempt();
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("back in the queue"));
  EXPECT_EQ(status(), "completed");
}

TEST_F(SlurmFaults, APreemptedJobThatMayNot) {
  as_alice();
  work_->start(
      args("[sleep, '300']", {"resources.exclude=n2", "resources.sbatch_extra=[--no-requeue]"}));
  ASSERT_TRUE(is_said(is_running)) << work_->text_of("stderr");
  preempt();
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("preempted by another job"));
  EXPECT_EQ(status(), "preempted");
}

TEST_F(SlurmFaults, MoreMemoryThanAskedFor) {
  as_alice();
  const auto ended = run(
      "[python3, -c, 'import time; x = b\"x\" * 600000000; time.sleep(300)']",
      {"resources.exclude=n2", "resources.sbatch_extra=[--mem=200]", "resources.ranks_per_node=1"});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("out of memory"));
  EXPECT_EQ(status(), "out_of_memory");
}

/// An administrator moves the end nearer: TIMEOUT within Slurm's next look, not after a minute.
TEST_F(SlurmFaults, TheTimeLimit) {
  as_alice();
  work_->start(args("[bash, -c, 'trap \"\" USR2; sleep 300']", {"resources.exclude=n2"}));
  ASSERT_TRUE(is_said(is_running)) << work_->text_of("stderr");
  cluster_->on_head({"scontrol", "update", "jobid=" + job(), "EndTime=now+1"});
  const auto ended = work_->wait(80s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("reached its time limit"));
  EXPECT_EQ(status(), "timeout");
}

TEST_F(SlurmFaults, SlurmIsDownForTwentySeconds) {
  // It outlasts the outage, however long that is.
  work_->start(
      args("[bash, -c, 'for i in $(seq 24); do echo tick $i; sleep 1; done; "
           "until [ -e back ]; do sleep 0.2; done']",
           {"resources.exclude=n2", "resources.ranks_per_node=1"}));
  ASSERT_TRUE(is_said(is_running)) << work_->text_of("stderr");
  Workplace reader(cluster_->share() + "/reader");
  reader.before = cluster_->login();
  reader.start({"logs", "-f", work_->run_dir()});
  const auto reads = [&](const std::string& file, const std::string& text) {
    return happens_within(40s,
                          [&] { return reader.text_of(file).find(text) != std::string::npos; });
  };
  EXPECT_TRUE(reads("stdout", "tick 1\n"));
  ASSERT_TRUE(cluster_->tell("stop-controller"));
  const auto down_since = std::chrono::steady_clock::now();
  EXPECT_TRUE(is_said("Slurm does not answer")) << work_->text_of("stderr");
  EXPECT_TRUE(reads("stderr", "the job continues; still following it")) << reader.text_of("stderr");
  expect_words_without_slurm();

  std::this_thread::sleep_until(down_since + 20s);
  ASSERT_TRUE(cluster_->tell("start-controller"));
  EXPECT_TRUE(is_said("Slurm answers again")) << work_->text_of("stderr");
  EXPECT_TRUE(reads("stderr", "Slurm answers again")) << reader.text_of("stderr");
  work_->file("back", "");
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(status(), "completed");
  const auto read = reader.wait(30s);
  EXPECT_EQ(read.exit_code, 0) << read.err;
  for (int tick = 1; tick <= 24; ++tick)
    EXPECT_THAT(read.out, HasSubstr("tick " + std::to_string(tick) + "\n"));
}

/// Slurm by itself would need SlurmdTimeout to notice.
TEST_F(SlurmFaults, ALostNode) {
  as_alice();
  work_->start(args("[sleep, '300']", {"resources.nodes=2", "resources.ranks_per_node=1",
                                       "resources.sbatch_extra=[--no-requeue]"}));
  ASSERT_TRUE(is_said(is_running)) << work_->text_of("stderr");
  ASSERT_TRUE(cluster_->tell("kill-node", {"n2"}));
  cluster_->on_head({"scontrol", "update", "nodename=n2", "state=down", "reason=power"});
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("lost node n2"));
  EXPECT_EQ(status(), "node_fail");
  EXPECT_TRUE(cluster_->tell("revive-node", {"n2"}));
}

}  // namespace
}  // namespace dllaunch
