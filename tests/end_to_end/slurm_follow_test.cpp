// Runs found, looked at, followed and ended by another process than the one that started them, on a
// real Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// One Slurm for the whole suite: each test waits for its own jobs' ends.
class SlurmFollow : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<TemporaryFolder>();
    work_ = std::make_unique<Workplace>();
    const auto up =
        cluster({"up", cluster_->path(), "--owner", std::to_string(getpid()), "--nodes", "2",
                 "--cpus", "2", "--share", work_->path(), "--share", DLLAUNCH_BIN_DIR});
    if (up && up->exit_code == 0) return;
    why_not_ = up ? up->err : up.error().what;
    cannot_ = up && up->exit_code == 77;
  }
  static void TearDownTestSuite() {
    const auto down = cluster({"down", cluster_->path()});
    EXPECT_TRUE(down && down->exit_code == 0);
    work_.reset();
    cluster_.reset();
  }
  void SetUp() override {
    if (cannot_) GTEST_SKIP() << why_not_;
    ASSERT_EQ(why_not_, "");
    work_->before = {program(), "run", cluster_->path(), "--"};
    work_->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work_->path() + "/cache"}};
  }
  void TearDown() override {
    if (!why_not_.empty()) return;
    EXPECT_TRUE(cluster({"run", cluster_->path(), "--", "scancel", "--me"}));
  }

  static std::string program() {
    return std::string(DLLAUNCH_SOURCE_DIR) + "/tests/cluster/cluster";
  }
  static Result<CommandOutput> cluster(std::vector<std::string> argv) {
    argv.insert(argv.begin(), program());
    return PosixSystem(Console{}).run(argv, patience * 90s);
  }

  Ended run(const std::vector<std::string>& argv) { return work_->run(argv); }

  /// Four ranks that say hello, wait for the file "go" and say goodbye; rank 3 may fail.
  std::string command_job(const std::string& name, const std::string& last = "true",
                          const std::string& more = "") {
    return work_->file(name + ".yaml",
                       "name: " + name +
                           "\nresources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 5}\n" +
                           more +
                           "run: |\n  echo hello\n  echo I am rank $RANK\n  for i in $(seq "
                           "2400); do [ -e go-" +
                           name + " ] && break; sleep 0.1; done\n  echo goodbye\n  " + last + "\n");
  }
  void let_go(const std::string& name) { work_->file("go-" + name, ""); }
  std::string detached(const std::string& file) {
    const auto started = run({"run", file, "--detach"});
    EXPECT_EQ(started.exit_code, 0) << started.err;
    const auto at = started.out.find("job  ");
    return at == std::string::npos ? "" : started.out.substr(at + 5, started.out.size() - at - 6);
  }
  Json status(const std::string& run_name) {
    return Json::parse(run({"status", run_name, "--json"}).out, nullptr, false);
  }
  bool becomes(const std::string& run_name, const std::string& state) {
    return happens_within(60s, [&] { return status(run_name).value("state", "") == state; });
  }
  bool says(const std::string& run_name, const std::string& text) {
    return happens_within(30s, [&] {
      return run({"logs", run_name}).out.find(text) != std::string::npos;
    });
  }

  static std::unique_ptr<TemporaryFolder> cluster_;
  static std::unique_ptr<Workplace> work_;
  static std::string why_not_;
  static bool cannot_;
};

std::unique_ptr<TemporaryFolder> SlurmFollow::cluster_;
std::unique_ptr<Workplace> SlurmFollow::work_;
std::string SlurmFollow::why_not_;
bool SlurmFollow::cannot_ = false;

TEST_F(SlurmFollow, ADetachedRunIsFoundFollowedAndWrittenDown) {
  const auto id = detached(command_job("found"));
  ASSERT_TRUE(says("found", "ranks 0-3: hello\n") && says("found", "I am rank 3"));
  const auto listed = run({"ps"});
  EXPECT_THAT(listed.out, HasSubstr("running"));
  EXPECT_THAT(listed.out, HasSubstr("2x2"));
  EXPECT_THAT(listed.out, HasSubstr("n[1-2]"));
  EXPECT_THAT(run({"status", id}).out, HasSubstr("found: running"));
  EXPECT_THAT(run({"logs", id}).out, HasSubstr("ranks 0-3: hello\n"));
  EXPECT_THAT(run({"logs", id}).out, Not(HasSubstr("goodbye")));

  work_->start({"logs", "-f", "found"});
  let_go("found");
  const auto followed = work_->wait(60s);
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_THAT(followed.out, HasSubstr("ranks 0-3: hello\n"));
  EXPECT_THAT(followed.out, HasSubstr("[n2:3] I am rank 3\n"));
  EXPECT_THAT(followed.out, HasSubstr("goodbye\n"));
  EXPECT_THAT(run({"logs", "found"}).out, HasSubstr("ranks 0-3: goodbye\n"));
  // Only `logs -f` followed it, and wrote the summary.
  EXPECT_EQ(status("found")["summary"]["status"], "completed");
  EXPECT_EQ(status("found")["state"], "completed");
  EXPECT_EQ(run({"logs", "found", "--rank", "3"}).out, "hello\nI am rank 3\ngoodbye\n");
}

TEST_F(SlurmFollow, OneThatFailedUnseenSaysWhy) {
  detached(command_job(
      "broken", "if [ $RANK = 3 ]; then python3 -c 'import nosuchmodule'; else sleep 5; fi"));
  let_go("broken");
  ASSERT_TRUE(becomes("broken", "failed"));
  const auto told = run({"status", "broken"});
  EXPECT_THAT(told.out, HasSubstr("first error rank 3 on n2: ModuleNotFoundError"));
  EXPECT_THAT(told.out, HasSubstr("rank 3 on n2 exited with code 1"));
  EXPECT_THAT(told.out, HasSubstr("environment.activate"));
  EXPECT_EQ(run({"logs", "-f", "broken"}).exit_code, 1);
}

TEST_F(SlurmFollow, RunAgainGoesOnFollowing) {
  const auto file = command_job("again");
  const auto argv = std::vector<std::string>{"run", file, "--run-dir", work_->path() + "/again"};
  auto detach = argv;
  detach.push_back("--detach");
  ASSERT_EQ(run(detach).exit_code, 0);
  ASSERT_TRUE(says(work_->path() + "/again", "hello"));
  work_->start(argv);
  ASSERT_TRUE(happens_within(
      30s, [] { return work_->text_of("stderr").find("following it") != std::string::npos; }));
  let_go("again");
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("hello"));
  EXPECT_THAT(ended.err, HasSubstr("goodbye"));
  EXPECT_THAT(ended.out, HasSubstr("completed: 4 ranks"));
}

TEST_F(SlurmFollow, TheBooksCoverAJobThatNobodyFollowed) {
  const auto dir = work_->path() + "/books";
  const std::vector<std::string> argv = {"run", command_job("books"), "--run-dir", dir};
  auto detach = argv;
  detach.push_back("--detach");
  ASSERT_EQ(run(detach).exit_code, 0);
  ASSERT_TRUE(says(dir, "I am rank 3"));
  EXPECT_TRUE(happens_within(30s, [&] {
    return run({"report", dir}).out.find("  so far: core-hours 0.") != std::string::npos;
  })) << run({"report", dir}).out;
  let_go("books");
  // ps only looks: it writes no summary.
  ASSERT_TRUE(happens_within(60s, [&] {
    for (const auto& one : Json::parse(run({"ps", "--json"}).out, nullptr, false))
      if (one.value("run_dir", "") == dir) return one.value("state", "") == "ended";
    return false;
  })) << run({"ps", "--json"}).out;
  const auto seen = run(argv);
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_EQ(work_->text_of("books/summary.before.json"), "") << "the end is shown first";
  const auto ended = run(argv);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto before = Json::parse(work_->text_of("books/summary.before.json"), nullptr, false);
  const auto summary = Json::parse(work_->text_of("books/summary.json"), nullptr, false);
  EXPECT_EQ(before["status"], "completed");
  EXPECT_GT(before["core_hours"], 0) << before;
  EXPECT_GT(summary["core_hours"], before["core_hours"]) << summary;
  EXPECT_EQ(summary["submissions"], 2);
}

/// Only Slurm's restart count shows it: this attach never saw the job run.
TEST_F(SlurmFollow, AnUnobservedRequeueIsReported) {
  const auto dir = work_->path() + "/requeued";
  const std::vector<std::string> argv = {"run", command_job("requeued"), "--run-dir", dir};
  auto detach = argv;
  detach.push_back("--detach");
  ASSERT_EQ(run(detach).exit_code, 0);
  ASSERT_TRUE(says(dir, "hello"));
  auto id = work_->text_of("requeued/job.id");
  id.pop_back();
  ASSERT_TRUE(cluster({"run", cluster_->path(), "--", "scontrol", "requeue", id}));
  work_->start(argv);
  EXPECT_TRUE(happens_within(30s, [] {
    return work_->text_of("stderr").find("back in the queue (restart 1)") != std::string::npos;
  })) << work_->text_of("stderr");
  work_->signal(SIGTERM);
  EXPECT_EQ(work_->wait(60s).exit_code, 143);
}

TEST_F(SlurmFollow, CancelSavesFirst) {
  const auto file = work_->file(
      "trainer.yaml",
      "name: trainer\nresources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 10}\n"
      "environment: {variables: {OMP_NUM_THREADS: '1'}}\n"
      "train:\n  model: lenet\n  backend: reference\n"
      "  dataset: {kind: synthetic, images: 20000, classes: 10, channels: 1, image_size: 28}\n"
      "  batch_size: 8\n  epochs: 1000\nrecovery: {grace_seconds: 30}\n");
  detached(file);
  ASSERT_TRUE(happens_within(60s, [&] { return status("trainer")["step"].is_number(); }));
  EXPECT_THAT(run({"ps"}).out, HasSubstr("epoch 1/1000 step"));
  const auto cancelled = run({"cancel", "trainer"});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.err, HasSubstr("asked the ranks to save and stop"));
  EXPECT_THAT(cancelled.out, HasSubstr("checkpoints/step-"));
  EXPECT_EQ(status("trainer")["state"], "cancelled");
  const auto again = run({"cancel", "trainer"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out, HasSubstr("has already ended: cancelled"));
}

TEST_F(SlurmFollow, ACommandThatKnowsTheSignalSavesBeforeItIsCancelled) {
  const auto file =
      work_->file("saver.yaml",
                  "name: saver\nresources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 5}\n"
                  // A sleep would get the signal too, and bash report its end.
                  "run: [bash, -c, 'exec 3<> <(:); trap \"echo saved; exit 0\" USR2; echo ready; "
                  "while :; do read -r -t 0.1 -u 3; done']\n"
                  "recovery: {signal: USR2, grace_seconds: 30}\n");
  detached(file);
  ASSERT_TRUE(happens_within(30s, [&] {
    return run({"logs", "saver"}).out.find("ranks 0-1: ready") != std::string::npos;
  }));
  const auto cancelled = run({"cancel", "saver"});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.err, HasSubstr("asked the ranks to save and stop"));
  EXPECT_THAT(run({"logs", "saver"}).out, HasSubstr("ranks 0-1: saved"));
}

TEST_F(SlurmFollow, AfterWaitsForTheOtherAndSaysWhyItNeverWould) {
  const auto first = detached(command_job("first"));
  const auto second =
      work_->file("second.yaml",
                  "name: second\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5}\n"
                  "after: [first]\nrun: echo second ran\n");
  const auto id = detached(second);
  const std::string waits = "waiting for another job (Dependency)";
  EXPECT_TRUE(happens_within(30s, [&] {
    return run({"status", "second"}).out.find(waits) != std::string::npos;
  })) << run({"status", "second"}).out;
  let_go("first");
  ASSERT_TRUE(becomes("second", "completed"));
  EXPECT_THAT(run({"logs", id}).out, HasSubstr("second ran"));
  // What has completed is not waited for; what failed is said before anything is submitted.
  const auto after_done = run({"run", second});
  EXPECT_EQ(after_done.exit_code, 0) << after_done.err;
  EXPECT_THAT(after_done.err, HasSubstr("after: first has completed already"));

  detached(command_job("failing", "exit 7"));
  let_go("failing");
  ASSERT_TRUE(becomes("failing", "failed"));
  const auto refused = run({"run", second, "--set", "after=[failing]"});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("after: failing is failed"));
}

/// As where the answer of the controller is lost on its way: the job is in the queue.
TEST_F(SlurmFollow, AnSbatchThatFailsAfterItSubmittedIsOneJob) {
  std::filesystem::create_directory(work_->path() + "/bin");
  const auto wrapper = work_->file(
      "bin/sbatch",
      "#!/bin/sh\ncase \"$*\" in *--test-only*) exec /usr/bin/sbatch \"$@\";; esac\n"
      "/usr/bin/sbatch \"$@\" > /dev/null || exit\necho 'sbatch: error: Batch job submission "
      "failed: Socket timed out on send/recv operation' >&2\nexit 1\n");
  std::filesystem::permissions(wrapper, std::filesystem::perms::owner_all);
  work_->environment.emplace_back("PATH", work_->path() + "/bin:" + std::getenv("PATH"));
  const auto file =
      work_->file("lost.yaml",
                  "name: lost-answer\nresources: {nodes: 1, ranks_per_node: 1, device: "
                  "cpu, time: 5}\nrun: echo hello\n");
  const auto ended = run({"run", file, "--run-dir", work_->path() + "/lost"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("checking whether Slurm accepted the job"));
  EXPECT_THAT(ended.out, HasSubstr("completed: 1 rank"));
  const auto jobs = cluster({"run", cluster_->path(), "--", "squeue", "--states=all", "--noheader",
                             "--name=lost-answer", "--format=%i"});
  ASSERT_TRUE(jobs);
  EXPECT_EQ(std::count(jobs->out.begin(), jobs->out.end(), '\n'), 1) << jobs->out;
}

TEST_F(SlurmFollow, AnArraysTasksAreToldApart) {
  const auto file = work_->file(
      "many.yaml",
      "name: many\nresources: {nodes: 1, ranks_per_node: 2, device: cpu, time: 5, exclusive: "
      "false}\narray: 0-2\n"
      "run: |\n  echo task $SLURM_ARRAY_TASK_ID\n"
      "  [ $SLURM_ARRAY_TASK_ID = 1 ] || exit 0\n"
      "  [ $RANK = 1 ] || exec sleep 60\n  echo 'ValueError: bad shape' >&2\n  exit 7\n");
  const auto ended = run({"run", file});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("1 of 3 tasks did not complete: 1 (failed); job "));
  EXPECT_THAT(ended.err, ContainsRegex("_1: rank 1 on n[12] exited with code 7\n"));
  EXPECT_THAT(ended.err, ContainsRegex("first error: task 1: rank 1 on n[12]: ValueError: bad "
                                       "shape\n"));
  EXPECT_THAT(ended.err, HasSubstr("task-1/out/rank-0001-n"));
  EXPECT_THAT(ended.err, HasSubstr("many: array 0-2 of 2 ranks per task on "));
  EXPECT_THAT(ended.out, HasSubstr("failed: 3 tasks (2 completed, 1 failed), "));
  EXPECT_THAT(ended.out, HasSubstr("/task-N/out of task N; all: dllaunch logs "));
  const auto logs = run({"logs", "many"});
  EXPECT_THAT(logs.out, HasSubstr("task 0: ranks 0-1: task 0\n"));
  EXPECT_THAT(logs.out, HasSubstr("task 2: ranks 0-1: task 2\n"));
  EXPECT_EQ(status("many")["state"], "failed");
}

TEST_F(SlurmFollow, OneTaskOfAnArrayIsCancelledAndThenAll) {
  const auto file = work_->file(
      "some.yaml",
      "name: some\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5, exclusive: "
      "false}\narray: 0-2\nrun: |\n  [ $SLURM_ARRAY_TASK_ID != 0 ] || exit 3\n  echo up\n  "
      "sleep 100\n");
  const auto id = detached(file);
  ASSERT_TRUE(says("some", "task 2: up"));
  const auto one = run({"cancel", id + "_2"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.out, "task 2 of job " + id + " cancelled\n");
  ASSERT_TRUE(happens_within(30s, [&] {
    return run({"status", "some"}).out.find("0 (failed)") != std::string::npos;
  }));
  const auto again = run({"cancel", id + "_0"});
  EXPECT_EQ(again.out, "task 0 of job " + id + " has already ended: failed\n") << again.err;
  const auto none = run({"cancel", id + "_9"});
  EXPECT_EQ(none.exit_code, 2) << none.out;
  EXPECT_THAT(none.err, HasSubstr("Slurm has no task 9 of job " + id));

  const auto told = run({"status", "some"}).out;
  EXPECT_THAT(told, HasSubstr("some: running"));
  EXPECT_THAT(told, ContainsRegex("1 running on n[12]"));
  EXPECT_THAT(told, HasSubstr("2 over; "));
  EXPECT_THAT(told, HasSubstr("0 (failed), 2 (cancelled)"));
  EXPECT_THAT(told, ContainsRegex("rank 0 on n[12] exited with code 3"));
  EXPECT_EQ(run({"cancel", id}).exit_code, 0);
  EXPECT_EQ(status("some")["state"], "cancelled");
}

}  // namespace
}  // namespace dllaunch
