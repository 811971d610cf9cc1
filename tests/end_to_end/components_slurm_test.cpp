// Modular jobs as heterogeneous jobs of a real Slurm: two partitions, one of nodes with GPUs.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/json.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

/// Obeys TERM, as a data loader should.
constexpr const char* loader = "trap \"echo told; exit 0\" TERM; : > here-loader; sleep 600 & wait";
constexpr const char* waits = ": > here-trainer; sleep 600";

class SlurmComponents : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ =
        new TestCluster({"--nodes",     "3",
                         "--cpus",      "2",
                         "--gpus",      "2",
                         "--odd-node",  "n3:gpus=0",
                         "--partition", "cluster Nodes=n3 Default=YES",
                         "--partition", "booster Nodes=n[1-2]",
                         "--partition", "urgent Nodes=n[1-2] PriorityTier=10 PreemptMode=OFF",
                         "--conf",      "PreemptType=preempt/partition_prio",
                         "--conf",      "PreemptMode=REQUEUE",
                         "--conf",      "KillWait=5"});
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    static int number = 0;
    work_.emplace(fmt::format("{}/w{}", cluster_->share(), ++number));
    work_->before = cluster_->login();
    work_->environment = {{"TERM", "dumb"},
                          {"XDG_STATE_HOME", work_->path() + "/state"},
                          {"XDG_CACHE_HOME", work_->path() + "/cache"}};
  }
  void TearDown() override {
    if (cluster_ != nullptr && cluster_->up()) cluster_->on_head({"scancel", "--user=root"});
  }

  std::string job(const std::string& first, const std::string& second,
                  const std::string& more = "") const {
    return work_->file("job.yaml", fmt::format(R"(name: both
resources: {{device: cpu, ranks_per_node: 1, time: 10}}
components:
  - name: loader
    resources: {{partition: cluster}}
    run: '{}'
  - name: trainer
    ends: job
    resources: {{partition: booster, nodes: 2, ranks_per_node: 2}}
    run: '{}'
{})",
                                               first, second, more));
  }
  std::vector<std::string> command(const std::string& file,
                                   const std::vector<std::string>& sets) const {
    std::vector<std::string> argv = {"run", file, "--run-dir", work_->run_dir()};
    for (const auto& set : sets) argv.insert(argv.end(), {"--set", set});
    return argv;
  }
  Ended run(const std::string& file, const std::vector<std::string>& sets = {}) {
    return work_->run(command(file, sets));
  }
  void start(const std::string& file, const std::vector<std::string>& sets = {}) {
    work_->start(command(file, sets));
    for (const char* name : {"/here-loader", "/here-trainer"})
      ASSERT_TRUE(
          happens_within(60s, [&] { return std::filesystem::exists(work_->path() + name); }));
  }
  std::string tell(const std::vector<std::string>& argv) {
    Workplace other(work_->path());
    other.before = work_->before;
    other.environment = work_->environment;
    return other.run(argv).out;
  }
  Json status(const std::string& run) {
    return Json::parse(tell({"status", run, "--json"}), nullptr, false);
  }
  /// Equal lines in one, however late some came.
  std::string logs() { return tell({"logs", work_->run_dir()}); }
  static bool queue_is_empty() {
    return happens_within(30s, [] { return cluster_->on_head({"squeue", "--noheader"}).empty(); });
  }

  static TestCluster* cluster_;
  std::optional<Workplace> work_;
};
TestCluster* SlurmComponents::cluster_ = nullptr;

// Two partitions, node shapes and commands; every rank knows both and is bound in its own.
TEST_F(SlurmComponents, StartTogetherEachOnItsNodes) {
  const auto ended =
      run(job("env | grep ^DLLAUNCH_COMP; exec sleep 600",
              "env | grep ^DLLAUNCH_COMP; echo rank $RANK of $WORLD_SIZE cpus $(taskset -cp $$)"));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* name : {"loader \\[n3:0\\] ", "trainer (ranks 0-3|\\[n1:0\\]).*"}) {
    const std::string line = name;
    EXPECT_THAT(ended.err, ContainsRegex(line + "DLLAUNCH_COMPONENT_TRAINER_HOSTS=n1,n2\n"));
    EXPECT_THAT(ended.err, ContainsRegex(line + "DLLAUNCH_COMPONENT_LOADER_ADDRESS=n3\n"));
    EXPECT_THAT(ended.err, ContainsRegex(line + "DLLAUNCH_COMPONENT_TRAINER_RANKS=4\n"));
  }
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_THAT(ended.err,
                ContainsRegex(fmt::format("trainer \\[n{}:{}\\] rank {} of 4 cpus [^\n]*: {}\n",
                                          1 + rank / 2, rank, rank, rank % 2)));
  const auto told = status(work_->run_dir());
  EXPECT_EQ(told["components"][0]["state"], "stopped") << "the trainer ends the job";
  EXPECT_EQ(told["components"][1]["where"], "n[1-2]");
  EXPECT_TRUE(queue_is_empty());
  EXPECT_EQ(status(work_->job_id() + "+1")["run_dir"], work_->run_dir() + "/components/trainer");
}

constexpr const char* says =
    "echo rank $RANK cpus $(taskset -cp $$) gpus [${CUDA_VISIBLE_DEVICES-none}]; : > said-$RANK";
const std::string says_later =
    fmt::format("until [ -e said-0 ] && [ -e said-1 ]; do sleep 0.1; done; {}", says);

/// The line that `says` prints.
auto said(const std::string& component, int node, int rank, int cpu, const std::string& gpus) {
  return ContainsRegex(fmt::format("{} \\[n{}:{}\\] rank {} cpus [^\n]*list: {} gpus \\[{}\\]\n",
                                   component, node, rank, rank, cpu, gpus));
}

TEST_F(SlurmComponents, WhereOthersRenameTheyRunFromTheirUsersCopies) {
  // A folder that others cannot enter would protect what is below it.
  std::filesystem::permissions(std::filesystem::path(cluster_->share()).parent_path(),
                               static_cast<std::filesystem::perms>(0755));
  std::filesystem::permissions(work_->path(), std::filesystem::perms::all);
  const auto state = cluster_->share() + "/state-of-components";
  for (const auto& word : {std::string("env"), "XDG_STATE_HOME=" + state})
    work_->before.push_back(word);
  const auto ended = run(job("exec sleep 600", "echo \"$PYTHONPATH\" > where"));
  EXPECT_EQ(ended.exit_code, 0) << ended.err << logs();
  EXPECT_THAT(work_->text_of("run/job.sbatch"),
              HasSubstr("--components --run-dir \"$dllaunch_run\" --files " + state));
  EXPECT_THAT(work_->text_of("where"), HasSubstr(state + "/dllaunch/kept/"));
  EXPECT_THAT(work_->text_of("where"), HasSubstr("/components/trainer/autopsy/python"));
  // As on nodes that do not have the state folder.
  std::filesystem::remove(work_->path() + "/where");
  const auto copies = std::filesystem::directory_iterator(state + "/dllaunch/kept")->path();
  std::filesystem::rename(copies, state + "/away");
  const auto said =
      cluster_->on_head({"sbatch", "--parsable", "--wait", work_->run_dir() + "/job.sbatch"});
  EXPECT_THAT(work_->text_of("run/slurm-" + said.substr(0, said.find_first_of("\n;")) + ".out"),
              HasSubstr("scripts are not executed from there"));
  EXPECT_FALSE(std::filesystem::exists(work_->path() + "/where"));
}

/// As with a home that the user's group may write.
TEST_F(SlurmComponents, WhereOthersRenameAndNoCopiesCanBeKeptTheyRunAsElsewhere) {
  std::filesystem::permissions(std::filesystem::path(cluster_->share()).parent_path(),
                               static_cast<std::filesystem::perms>(0755));
  std::filesystem::permissions(work_->path(), std::filesystem::perms::all);
  for (const char* word : {"env", "XDG_STATE_HOME=/proc"}) work_->before.emplace_back(word);
  const auto ended = run(job("exec sleep 600", "touch ran"));
  EXPECT_EQ(ended.exit_code, 0) << ended.err << logs();
  EXPECT_TRUE(std::filesystem::exists(work_->path() + "/ran"));
}

TEST_F(SlurmComponents, OneHasGpus) {
  const auto ended = run(job(says, says_later), {"components.loader.resources.ranks_per_node=2",
                                                 "components.trainer.resources.gpus_per_node=2",
                                                 "components.trainer.resources.device=cuda"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_THAT(ended.err, said("loader", 3, rank, rank, "none"));
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_THAT(ended.err, said("trainer", 1 + rank / 2, rank, rank % 2, "0,1"));
}

// The script has the variables of the first one's GPUs, which must not reach the second.
TEST_F(SlurmComponents, EachHasGpusOfItsOwn) {
  const auto ended = run(
      job(says, says_later),
      {"resources.device=cuda",
       "components.loader.resources={partition: booster, gpus_per_node: 2, ranks_per_node: 2}",
       "components.trainer.resources={partition: booster, gpus_per_node: 1, ranks_per_node: 1}"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(ended.err, said("loader", 1, rank, rank, "0,1"));
  EXPECT_THAT(ended.err, ContainsRegex("trainer \\[n2:0\\] rank 0 cpus [^\n]* gpus \\[0\\]\n"));
}

TEST_F(SlurmComponents, OneThatDiesEndsTheOthers) {
  const auto ended =
      run(job(loader,
              "until [ -e here-loader ]; do sleep 0.1; done; echo ValueError: bad >&2; "
              "exit $((RANK == 3 ? 7 : 0))"));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("component trainer: rank 3 on n2 exited with code 7"));
  EXPECT_THAT(ended.err, HasSubstr("first error: "));
  EXPECT_THAT(ended.err, HasSubstr("loader [n3:0] told")) << "by TERM, not KILL";
}

// Its script outlives its ranks until it is told that the job is over.
TEST_F(SlurmComponents, OneThatFailsBesideTheEndIsNamed) {
  const auto ended =
      run(job("exit 7", fmt::format("until grep -qs next...stop {}/components/loader/"
                                    "supervisor.jsonl; do sleep 0.2; done",
                                    work_->run_dir())),
          {"components.loader.environment.setup=if [ -z \"$again\" ]; then again=1 "
           "bash \"$0\" || true; while true; do sleep 0.2; done; fi"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("has completed, but component loader failed: rank 0 on n3 "
                                   "exited with code 7"));
}

TEST_F(SlurmComponents, AScriptThatFailsIsQuoted) {
  const auto ended =
      run(job(loader, waits), {"components.trainer.environment.setup=echo OOPS >&2; false"});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, ContainsRegex("component trainer: its script exited with code 1; see "
                                       ".*/components/trainer/slurm-[0-9]+.out: OOPS"));
  EXPECT_EQ(status(work_->run_dir())["components"][1]["state"], "failed");
}

TEST_F(SlurmComponents, AScriptThatPreparesEndsWithTheOthers) {
  const auto ended =
      run(job(loader, "while [ ! -e prepares ]; do sleep 0.2; done; exit 7"),
          {"components.loader.environment.setup=touch prepares; sleep 600; sleep 600"});
  EXPECT_EQ(ended.exit_code, 1) << "long before its preparations' end";
  EXPECT_THAT(ended.err, HasSubstr("component trainer: "));
}

// The loader has saved first, and wants the job requeued.
TEST_F(SlurmComponents, AWarningLetsAllSaveBeforeTheRequeue) {
  const auto file = job(
      "[ -e saved ] && exit 0; trap \"exit 1\" USR2; : > here-loader; while :; do sleep 0.2; done",
      "[ -e saved ] && exit 0; trap \"sleep 4; : > saved; exit 1\" USR2; "
      ": > here-trainer; : > here-trainer-$RANK; while :; do sleep 0.2; done");
  start(file, {"components.loader.recovery={signal: USR2, requeue_on: [timeout]}",
               "components.trainer.recovery={signal: USR2, requeue_on: [timeout]}"});
  for (const char* rank : {"0", "1", "2", "3"})  // each has its handler
    ASSERT_TRUE(happens_within(
        60s, [&] { return std::filesystem::exists(work_->path() + "/here-trainer-" + rank); }));
  cluster_->on_head({"scancel", "--batch", "--signal=USR2", work_->job_id()});
  const auto ended = work_->wait(200s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(std::filesystem::exists(work_->path() + "/saved"));
  EXPECT_THAT(work_->text_of("run/supervisor.jsonl"), HasSubstr("\"next\":\"requeue\""));
}

TEST_F(SlurmComponents, OneThatDiesRestartsInItsPlace) {
  const auto ended =
      run(job(loader, "if [ -e once ]; then echo again; else sleep 1; : > once; exit 9; fi",
              "    recovery: {max_restarts: 1, preflight: always}\n"));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(logs(), HasSubstr("trainer ranks 0-3: again"));
  EXPECT_EQ(status(work_->run_dir() + "/components/trainer")["restarts"], 1);
  const auto journal = work_->text_of("run/components/trainer/supervisor.jsonl");
  EXPECT_THAT(journal, HasSubstr("\"event\":\"preflight\"")) << "on the component's nodes";
  EXPECT_THAT(journal, HasSubstr("\"unfit\":\"\""));
}

TEST_F(SlurmComponents, ScancelOfOneEndsTheWhole) {
  start(job(loader, waits));
  cluster_->on_head({"scancel", work_->job_id() + "+1"});
  const auto ended = work_->wait();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("component trainer: its Slurm job, " + work_->job_id() +
                                   "+1, was cancelled"));
  EXPECT_TRUE(queue_is_empty());
}

// Slurm requeues all components for one; none starts before the urgent job is over.
TEST_F(SlurmComponents, APreemptedOneIsRequeuedWithTheWhole) {
  start(job(loader, waits));
  cluster_->on_head({"sbatch", "--partition=urgent", "--nodes=1", "--exclusive",
                     "--output=/dev/null", "--wrap=sleep 300"});
  const auto journal = [this] { return work_->text_of("run/supervisor.jsonl"); };
  ASSERT_TRUE(happens_within(60s, [&] { return journal().find("requeue") != std::string::npos; }));
  EXPECT_THAT(journal(), ContainsRegex("component (loader|trainer): was preempted by another job"));
  const auto requeued = [this] {
    return cluster_->on_head(
        {"squeue", "--noheader", "--name=both-loader,both-trainer", "--format=%T"});
  };
  EXPECT_TRUE(happens_within(60s, [&] { return requeued() == "PENDING\nPENDING"; })) << requeued();
  work_->signal(SIGTERM);
  work_->wait();
}

TEST_F(SlurmComponents, ARequeueStartsAllAgain) {
  start(job(loader, waits));
  for (const char* name : {"/here-loader", "/here-trainer"})
    std::filesystem::remove(work_->path() + name);
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  for (const char* name : {"/here-loader", "/here-trainer"})
    ASSERT_TRUE(happens_within(80s, [&] { return std::filesystem::exists(work_->path() + name); }));
  EXPECT_EQ(status(work_->run_dir())["state"], "running");
  work_->signal(SIGTERM);
  EXPECT_EQ(work_->wait().exit_code, 143);
  EXPECT_EQ(status(work_->run_dir())["state"], "cancelled");
  EXPECT_THAT(work_->text_of("run/supervisor.jsonl"), HasSubstr("cancelled by the user"));
}

TEST_F(SlurmComponents, OneThatHitsItsLimitEndsTheWhole) {
  if (!dllaunch::full_tier()) GTEST_SKIP() << "a time limit is a minute at least: --full";
  const auto file = job(loader, waits);
  work_->start(
      {"run", file, "--run-dir", work_->run_dir(), "--set", "components.trainer.resources.time=1"});
  const auto ended = work_->wait(200s);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("component trainer: its Slurm job, " + work_->job_id() +
                                   "+1, reached its time limit"));
}

}  // namespace
}  // namespace dllaunch
