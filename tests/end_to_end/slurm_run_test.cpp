// The whole road through a real Slurm: two nodes of two CPUs, made of namespaces on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* job_text = R"(name: two nodes
resources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 10}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  backend: reference
  dataset: {kind: synthetic, images: 256, classes: 10, channels: 1, image_size: 28}
  batch_size: 8
  epochs: 2
  optimizer: {lr: 0.05, momentum: 0.9}
recovery: {grace_seconds: 30}
)";

/// One Slurm for the whole suite, which each test leaves as it found it.
class SlurmRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ =
        std::make_unique<TestCluster>(std::vector<std::string>{"--nodes", "2", "--cpus", "2"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    work_.before = cluster_->login();
    // Every node has but one network card; Open MPI need not ask what is unreachable.
    // What its user has probed elsewhere is not this cluster's.
    work_.environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work_.path() + "/cache"}};
  }
  void TearDown() override {
    if (!cluster_->up()) return;
    work_.wait(0s);
    on_head({"scancel", "--me"});
    EXPECT_TRUE(happens_within(30s, [] { return on_head({"squeue", "--noheader"}).empty(); }));
  }

  static std::string on_head(const std::vector<std::string>& argv) {
    return cluster_->on_head(argv);
  }

  std::vector<std::string> args(std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"run", work_.file("job.yaml", job_text), "--run-dir",
                                    work_.run_dir()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json summary() { return Json::parse(work_.text_of("run/summary.json"), nullptr, false); }
  bool steps_were_made() {
    const auto made = [this] { return events_of(work_.run_dir(), "step").size() > 3; };
    return happens_within(60s, [&] { return made() || !work_.running(); }) && made();
  }
  bool nothing_is_left() { return all_end(work_.run_dir()); }

  static std::unique_ptr<TestCluster> cluster_;
  Workplace work_{cluster_->share() + "/" +
                  testing::UnitTest::GetInstance()->current_test_info()->name()};
  const std::vector<std::string> long_run_ = {"--set", "train.epochs=1000", "--set",
                                              "train.dataset.images=20000"};
};

std::unique_ptr<TestCluster> SlurmRun::cluster_;

TEST_F(SlurmRun, TwoNodesGiveTheLossesOfOne) {
  const auto ended = work_.run(args());
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("submitted job"));
  EXPECT_EQ(summary()["status"], "completed");
  EXPECT_EQ(summary()["ranks"], 4);
  EXPECT_GE(summary()["queue_seconds"], 0);
  std::size_t logs = 0;
  for (const auto& entry : fs::directory_iterator(work_.run_dir() + "/out")) {
    logs += entry.path().filename().string().starts_with("rank-") ? 1 : 0;
  }
  EXPECT_EQ(logs, 4u);
  EXPECT_TRUE(fs::exists(work_.run_dir() + "/job.sbatch"));
  EXPECT_EQ(unexplained_files(work_.run_dir()), std::vector<std::string>());
  EXPECT_TRUE(happens_within(10s, [] { return on_head({"squeue", "--noheader"}).empty(); }));

  Workplace here;
  const auto local =
      here.run({"run", here.file("job.yaml", job_text), "--local", "--run-dir", here.run_dir(),
                "--set", "resources.nodes=1", "--set", "resources.ranks_per_node=4"});
  ASSERT_EQ(local.exit_code, 0) << local.err;
  const auto far = events_of(work_.run_dir(), "epoch");
  const auto near = events_of(here.run_dir(), "epoch");
  ASSERT_EQ(far.size(), 2u);
  ASSERT_EQ(near.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const char* loss : {"loss", "val_loss"}) {
      const double expected = near[i][loss];
      EXPECT_NEAR(far[i][loss].get<double>(), expected, 1e-5 * expected) << loss << " " << i;
    }
  }
}

/// The weights in a run's newest checkpoint.
std::string weights_in(const Workplace& work) {
  std::string newest;
  for (const auto& each : fs::directory_iterator(work.run_dir() + "/checkpoints")) {
    const std::string file = "run/checkpoints/" + each.path().filename().string();
    if (fs::exists(each.path() / "model.safetensors")) newest = std::max(newest, file);
  }
  return newest.empty() ? "" : work.text_of(newest + "/model.safetensors");
}

// Its ranks know their number and nothing of each other: they meet over TCP.
TEST_F(SlurmRun, TwoNodesWithoutMpiGiveTheSameWeights) {
  const auto by_mpi = work_.run(args({"--set", "runtime.transport=mpi"}));
  ASSERT_EQ(by_mpi.exit_code, 0) << by_mpi.err;
  EXPECT_EQ(events_of(work_.run_dir(), "start").back()["transport"], "mpi");
  Workplace other{cluster_->share() + "/none"};
  other.before = work_.before;
  other.environment = work_.environment;
  const auto by_tcp = other.run({"run", other.file("job.yaml", job_text), "--run-dir",
                                 other.run_dir(), "--set", "runtime.transport=tcp"});
  ASSERT_EQ(by_tcp.exit_code, 0) << by_tcp.err;
  EXPECT_THAT(other.text_of("run/job.sbatch"), HasSubstr("--mpi=none"));
  EXPECT_EQ(events_of(other.run_dir(), "start").back()["transport"], "tcp");
  EXPECT_THAT(other.text_of("run/out/rank-0000-n1.log"),
              HasSubstr("4 ranks on 2 nodes, hierarchical over tcp"));
  const auto weights = weights_in(work_);
  EXPECT_GT(weights.size(), 10'000u);
  EXPECT_EQ(weights_in(other), weights);
}

TEST_F(SlurmRun, ARefusalComesInSbatchsWords) {
  const auto option = work_.run(args({"--set", "resources.sbatch_extra=[--bogus]"}));
  EXPECT_EQ(option.exit_code, 2) << option.err;
  EXPECT_THAT(option.err, HasSubstr("--bogus"));
  const auto licence = work_.run(args({"--set", "resources.sbatch_extra=[--licenses=nope:1]"}));
  EXPECT_EQ(licence.exit_code, 3) << licence.err;
  EXPECT_THAT(licence.err, HasSubstr("sbatch refused the job"));
}

TEST_F(SlurmRun, AKilledRankEndsAllAndIsNamed) {
  auto argv = args(long_run_);
  argv.insert(argv.end(), {"--set", "recovery.max_restarts=0"});
  work_.start(argv);
  ASSERT_TRUE(steps_were_made()) << work_.text_of("stderr");
  const auto victims = processes_of(work_.run_dir(), 1);
  ASSERT_EQ(victims.size(), 1u);
  kill(victims[0], SIGKILL);
  EXPECT_TRUE(nothing_is_left());
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 1);
  // Slurm may kill rank 0 before it tells of rank 1, and tells of both in one line then.
  EXPECT_THAT(ended.err, AnyOf(HasSubstr("rank 1 on n1 was killed by signal 9 (SIGKILL)"),
                               HasSubstr("ranks 0-1 on n1 were killed by signal 9 (SIGKILL)")));
  EXPECT_EQ(summary()["status"], "failed");
}

TEST_F(SlurmRun, InterruptedWithoutATerminalSavesAndCancels) {
  work_.start(args(long_run_));
  ASSERT_TRUE(steps_were_made()) << work_.text_of("stderr");
  work_.signal(SIGINT);
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_EQ(summary()["status"], "cancelled");
  EXPECT_FALSE(events_of(work_.run_dir(), "checkpoint").empty());
  EXPECT_TRUE(nothing_is_left());
  EXPECT_TRUE(happens_within(20s, [&] { return on_head({"squeue", "--noheader"}).empty(); }));
}

TEST_F(SlurmRun, CancelledByOthersIsSaidSo) {
  work_.start(args(long_run_));
  ASSERT_TRUE(steps_were_made()) << work_.text_of("stderr");
  on_head({"scancel", "--me"});
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("was cancelled"));
  EXPECT_EQ(summary()["status"], "cancelled");
}

// srun finds its job expired before the supervisor is told to stop. That is no error to requeue.
TEST_F(SlurmRun, CancelledAsItStartsItStaysCancelled) {
  for (int round = 0; round < 8; ++round) {
    Workplace work{work_.path() + fmt::format("/{}", round)};
    work.before = work_.before;
    work.environment = work_.environment;
    std::vector<std::string> argv = {"run", work.file("job.yaml", job_text), "--run-dir",
                                     work.run_dir(), "--detach"};
    argv.insert(argv.end(), long_run_.begin(), long_run_.end());
    const auto begun = work.run(argv);
    ASSERT_EQ(begun.exit_code, 0) << begun.err;
    ASSERT_TRUE(happens_within(30s, [] {
      return on_head({"squeue", "--noheader", "--format=%T"}).starts_with("RUNNING");
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * round));
    on_head({"scancel", "--me"});
    ASSERT_TRUE(happens_within(30s,
                               [] {
                                 return on_head({"squeue", "--noheader"}).empty();
                               }))
        << round << ": " << work.text_of("run/supervisor.jsonl");
  }
}

TEST_F(SlurmRun, DetachedItGoesOnAndItsDirectoryIsTaken) {
  auto argv = args(long_run_);
  argv.push_back("--detach");
  const auto ended = work_.run(argv);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("run  " + work_.run_dir() + "\njob  "));
  const auto id = work_.job_id();
  // Again: the same job, not a second one; another job is refused.
  const auto again = work_.run(argv);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("job  " + id + "\n"));
  EXPECT_THAT(again.err, HasSubstr("job " + id + " of this run is "));
  const auto other = work_.run(args({"--set", "train.batch_size=4"}));
  EXPECT_EQ(other.exit_code, 2) << other.err;
  on_head({"scancel", "--me"});
}

/// An array continues with what did not complete, from any folder, in its own.
TEST_F(SlurmRun, AnArrayContinuesWithTheTasksThatDidNotComplete) {
  const auto began = [this](const std::string& folder) {
    std::ifstream file(folder + "/began");
    std::multiset<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.insert(line);
    return lines;
  };
  using Lines = std::multiset<std::string>;
  work_.file("task.sh",
             "echo $SLURM_ARRAY_TASK_ID $SLURM_SUBMIT_DIR >> began\n"
             "[ $SLURM_ARRAY_TASK_ID != 2 ] || [ -e mended ]\n");
  const auto file = work_.file("array.yaml",
                               "name: scan\narray: 0-4:2\nresources: {nodes: 1, ranks_per_node: 1, "
                               "device: cpu, time: 5, exclusive: false, cpus_per_rank: 1}\n"
                               "run: [sh, task.sh]\n");
  const auto first = work_.run({"run", file, "--run-dir", work_.run_dir()});
  EXPECT_EQ(first.exit_code, 1) << first.err;
  EXPECT_THAT(first.out, HasSubstr("3 tasks (2 completed, 1 failed)"));
  const auto in = " " + work_.path();
  EXPECT_EQ(began(work_.path()), Lines({"0" + in, "2" + in, "4" + in}));

  const Workplace other(work_.path() + " of another project");
  other.file("task.sh", "echo another program >> began\n");
  work_.file("mended", "");
  const auto second = work_.run_in(other.path(), {"run", work_.run_dir()});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("tasks that have completed are left out: array "));
  EXPECT_EQ(began(work_.path()), Lines({"0" + in, "2" + in, "2" + in, "4" + in}));
  EXPECT_EQ(began(other.path()), Lines());

  const auto third = work_.run({"run", work_.run_dir()});
  EXPECT_EQ(third.exit_code, 0) << third.err;
  EXPECT_THAT(third.err, HasSubstr("all tasks"));
  EXPECT_EQ(began(work_.path()).size(), 4u);
}

/// squeue shows the tasks that wait in one line, with a stride, and shortens a long one.
TEST_F(SlurmRun, TasksOfAnArrayAreCountedAsSlurmCountsThem) {
  std::string odd = "1";
  for (int number = 4; number < 200; number += number % 7 == 0 ? 3 : 2)
    odd += "," + std::to_string(number);
  const auto count = std::to_string(1 + std::ranges::count(odd, ','));
  for (const auto& [array, tasks] :
       {std::pair<std::string, std::string>{"0-12:2", "7"}, {odd, count}}) {
    const auto file =
        work_.file("waits.yaml", "name: waits\narray: '" + array +
                                     "'\nresources: {nodes: 1, device: cpu, time: 5, sbatch_extra: "
                                     "['--begin=now+1hour']}\nrun: hostname\n");
    fs::remove(work_.path() + "/stderr");
    work_.start({"run", file, "--run-dir", work_.path() + "/" + tasks});
    ASSERT_TRUE(happens_within(30s, [&] {
      return work_.text_of("stderr").find(" waiting, ") != std::string::npos;
    })) << work_.text_of("stderr");
    work_.signal(SIGTERM);
    const auto ended = work_.wait();
    EXPECT_THAT(ended.err, HasSubstr(" running, " + tasks + " waiting"));
    EXPECT_THAT(ended.out, HasSubstr(tasks + " tasks (" + tasks + " cancelled)"));
  }
}

// One minute less 50 seconds of grace: Slurm asks for the checkpoint soon after the start.
TEST_F(SlurmRun, NearItsLimitItSavesAndSaysSo) {
  auto argv = args(long_run_);
  argv.insert(argv.end(), {"--set", "resources.time=1", "--set", "recovery.grace_seconds=50",
                           "--set", "recovery.requeue_on=[]"});
  work_.start(argv);
  const auto ended = work_.wait(80s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_EQ(summary()["status"], "timeout");
  EXPECT_THAT(ended.err, HasSubstr("before its time limit"));
}

TEST_F(SlurmRun, TheTimeLimitItself) {
  if (!full_tier()) GTEST_SKIP() << "takes 80 s: scripts/test --full";
  const auto file = work_.file("sleep.yaml",
                               "name: sleep\nresources: {nodes: 2, device: cpu, time: 1}\n"
                               "run: [bash, -c, 'trap \"\" USR2; sleep 300']\n"
                               "recovery: {grace_seconds: 5, requeue_on: []}\n");
  work_.start({"run", file, "--run-dir", work_.run_dir()});
  const auto ended = work_.wait(140s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_EQ(summary()["status"], "timeout");
  EXPECT_THAT(ended.err, HasSubstr("reached its time limit"));
}

}  // namespace
}  // namespace dllaunch
