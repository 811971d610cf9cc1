// How a run ended, and who has left it, on a real Slurm: where srun's exit code says nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class SlurmEnded : public OnTestCluster {
 protected:
  static void SetUpTestSuite() { start_cluster({"--nodes", "2", "--cpus", "2"}); }
  void TearDown() override {
    if (!work_) return;
    cluster_->on_head({"scancel", "--user=root"});
    work_->wait(30s);
  }

  /// `resources`: further ones; `rest`: of the job file.
  std::string job(const std::string& resources, const std::string& rest) const {
    return work_->file("job.yaml",
                       "name: ended\nresources: {nodes: 2, ranks_per_node: 2, device: cpu, "
                       "time: 10m" +
                           resources + "}\n" + rest);
  }
  void start(const std::string& file) {
    work_->start({"run", file, "--run-dir", work_->run_dir()});
  }
  Ended run(const std::string& file) {
    std::filesystem::remove_all(work_->run_dir());
    start(file);
    return work_->wait(60s);
  }
  /// Of a second `dllaunch`, as from another terminal.
  Ended ask(const std::string& verb) const {
    Workplace terminal(work_->path() + "/terminal");
    terminal.before = work_->before;
    terminal.environment = work_->environment;
    return terminal.run({verb, work_->run_dir()});
  }
  bool asked(const std::string& verb, const std::string& words) const {
    return happens_within(30s, [&] { return ask(verb).out.find(words) != std::string::npos; });
  }
  /// Of the attached terminal.
  bool shows(const std::string& words) const {
    return happens_within(
        30s, [&] { return work_->text_of("stderr").find(words) != std::string::npos; });
  }
  Json summary() const { return Json::parse(work_->text_of("run/summary.json"), nullptr, false); }
};

TEST_F(SlurmEnded, ARunOfWhichNoRankStartedHasFailed) {
  const auto ended =
      run(job(R"(, srun_extra: ["--output=logs/rank-%t.out"])", "run: touch went\n"));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err,
              ContainsRegex("ranks 0-3 did not begin: srun: error: task [0-3] launch failed: "));
  EXPECT_THAT(ended.err, HasSubstr("try: srun cannot open its --output"));
  EXPECT_EQ(summary()["status"], "failed");
  EXPECT_THAT(ask("status").out, ContainsRegex("^ended: failed"));
  EXPECT_FALSE(std::filesystem::exists(work_->path() + "/went"));
}

TEST_F(SlurmEnded, ARunOfWhichOneNodeCannotStartItsRanksHasFailed) {
  cluster_->on_node("n1", {"mkdir", "/tmp/logs"});
  const auto ended = run(job(R"(, srun_extra: ["--output=/tmp/logs/%t.out"])", "run: sleep 600\n"));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err,
              ContainsRegex("ranks 2-3 did not begin: srun: error: task [23] launch failed: "));
  EXPECT_TRUE(all_end(work_->run_dir()));
}

TEST_F(SlurmEnded, ARankThatLeftTheOthersAloneIsNamedWhileTheyWaitAndAtTheEnd) {
  const std::string left = "rank 0 on n1 ended with exit code 0 at ";
  start(job("", "run: if [ $RANK = 0 ]; then exit 0; fi; sleep 600\n"));
  EXPECT_TRUE(asked("status", left)) << ask("status").out;
  EXPECT_THAT(ask("status").out, HasSubstr("; ranks 1-3 have not ended\n"));
  EXPECT_THAT(ask("stacks").out, HasSubstr(left));
  EXPECT_TRUE(shows(left)) << work_->text_of("stderr");
  cluster_->on_head({"scancel", work_->job_id()});
  const auto ended = work_->wait(60s);
  EXPECT_THAT(ended.err, ContainsRegex("cancelled.*; " + left + ".*, before the others"));
  EXPECT_EQ(summary()["status"], "cancelled");
}

TEST_F(SlurmEnded, RanksThatFinishOneAfterTheOtherComplete) {
  const auto ended = run(job("", "run: sleep $RANK\n"));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr("before the others")));
}

TEST_F(SlurmEnded, SrunWithinARankThatWaitsForTheRanksNeedsOverlap) {
  start(job("", "run: if [ $RANK = 2 ]; then srun -N1 -n1 hostname; else sleep 600; fi\n"));
  const std::string words =
      "srun on n2 waits for CPUs that the ranks of the job hold: srun --overlap";
  EXPECT_TRUE(asked("status", words)) << ask("status").out;
  EXPECT_TRUE(shows(words)) << work_->text_of("stderr");
}

TEST_F(SlurmEnded, AProgramThatFailsInItsTextHasFailed) {
  auto ended = run(job("", "run: python3 -c 'import nosuchmodule' 2>&1 | tee train.log\n"));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("ModuleNotFoundError: No module named 'nosuchmodule'"));
  ended = run(job("", "environment: {setup: \"(exit 9) | cat\"}\nrun: touch went\n"));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("exited with code 9"));
  EXPECT_FALSE(std::filesystem::exists(work_->path() + "/went"));
}

TEST_F(SlurmEnded, ATrainingWithAStoppedRankIsStalledAndNotOnlyRunning) {
  start(job("", R"(train: {model: lenet, dataset: {kind: synthetic, images: 20000}, epochs: 1000}
runtime: {stall_seconds: 1, stall_abort_seconds: 600}
)"));
  const auto steps = [this] { return events_of(work_->run_dir(), "step").size() > 3; };
  ASSERT_TRUE(happens_within(60s, [&] { return steps() || !work_->running(); }) && steps());
  const auto ranks = processes_of(work_->run_dir(), 2);
  ASSERT_EQ(ranks.size(), 1u);
  kill(ranks[0], SIGSTOP);
  EXPECT_TRUE(asked("status", "stalled: rank 2 late since ")) << ask("status").out;
  kill(ranks[0], SIGCONT);
  EXPECT_TRUE(happens_within(30s, [&] {
    return ask("status").out.find("stalled: ") == std::string::npos;
  })) << ask("status").out;
}

}  // namespace
}  // namespace dllaunch
