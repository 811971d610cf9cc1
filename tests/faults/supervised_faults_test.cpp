// What kills jobs, done to jobs with a supervisor: a training ends with the weights of one that
// nothing was done to, or the run ends for the reason that it says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <variant>

#include "launcher/events.hpp"
#include "launcher/history.hpp"
#include "launcher/run_dir.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AnyOf;
using testing::Ge;
using testing::HasSubstr;
using testing::StartsWith;

/// A few seconds of training on two nodes, with a checkpoint about every second.
constexpr const char* training = R"(name: fault
resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  backend: reference
  dataset: {kind: synthetic, images: 1024, classes: 10, channels: 1, image_size: 28}
  batch_size: 8
  epochs: 5
  validate_every: 100
  optimizer: {lr: 0.05, momentum: 0.9}
runtime: {stall_seconds: 1, stall_abort_seconds: 3}
recovery: {grace_seconds: 20}
)";

constexpr int rounds = 5;
constexpr std::array<const char*, 3> nodes = {"n1", "n2", "n3"};

bool full() {
  return std::getenv("DLLAUNCH_TEST_FULL") != nullptr;
}

/// Once in CI, which has no time for all of them.
bool runs_here(const std::string& cell, int round) {
  static const std::set<std::string> in_ci = {"ARankIsKilled",          "TheSupervisorIsKilled",
                                              "ANodesDaemonsAreKilled", "TheStarterIsKilled",
                                              "ARankExitsAlways",       "ARankNeverWantsToRunAgain",
                                              "SomebodyRequeuesTheJob"};
  return full() || (round == 0 && in_ci.contains(cell));
}

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Of the newest checkpoint, its name before them; empty: there is none.
std::string weights_of(const std::string& run_dir) {
  const fs::path newest = newest_checkpoint({.path = run_dir});
  return newest.empty() ? "" : newest.filename().string() + bytes_of(newest / "model.safetensors");
}

/// As whoever reads the run counts them: each once, and none before its time.
std::int64_t steps_in_history(const std::string& run_dir) {
  History history;
  EventTail tail(run_dir + "/events.jsonl");
  for (auto events = tail.read(); !events.empty(); events = tail.read()) {
    for (const auto& event : events) {
      const auto before = history.step();
      const bool counts = history.take(event);
      if (!counts || !std::holds_alternative<StepEvent>(event)) continue;
      EXPECT_GT(history.step(), before) << "trained twice";
    }
  }
  return history.step();
}

class SupervisedFaults : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    auto name = std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
    if (!runs_here(name.substr(0, name.find('/')), GetParam())) GTEST_SKIP() << "only with --full";
    if (!cluster_)
      cluster_ =
          std::make_unique<TestCluster>(std::vector<std::string>{"--nodes", "3", "--cpus", "2"});
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    std::replace(name.begin(), name.end(), '/', '-');
    work_ = place(name);
  }
  void TearDown() override {
    if (!work_) return;
    if (!HasFailure()) {
      EXPECT_TRUE(happens_within(20s, [&] { return processes_of(work_->run_dir()).empty(); }));
      EXPECT_TRUE(happens_within(20s, [&] { return supervisors().empty(); }));
      EXPECT_EQ(leftovers(), "");
    }
    cluster_->on_head({"scancel", "--user=root"});
    work_->wait(30s);
    for (const auto& node : lost_) {
      cluster_->tell("kill-node", {node});
      EXPECT_TRUE(cluster_->tell("revive-node", {node}));
    }
    for (const char* node : nodes) cluster_->on_node(node, {"sh", "-c", "rm -rf /dev/shm/*"});
    EXPECT_TRUE(happens_within(30s, [] { return queue().empty(); })) << queue();
  }

  static std::unique_ptr<Workplace> place(const std::string& name) {
    auto work = std::make_unique<Workplace>(cluster_->share() + "/" + name);
    work->before = cluster_->login();
    work->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work->path() + "/cache"}};
    return work;
  }
  static std::string queue() { return cluster_->on_head({"squeue", "--noheader"}); }

  /// Files under temporary names, and shared memory that has one; one a line.
  std::string leftovers() const {
    std::string found;
    std::error_code error;
    for (fs::recursive_directory_iterator at(work_->run_dir(), error), end; !error && at != end;
         at.increment(error)) {
      const auto name = at->path().filename().string();
      if (name.starts_with(".") && name.find("tmp") != std::string::npos)
        found += at->path().string() + "\n";
    }
    for (const char* node : nodes) found += cluster_->on_node(node, {"ls", "/dev/shm"});
    return found;
  }

  static std::vector<std::string> words(Workplace& work, const std::string& text,
                                        std::vector<std::string> sets = {}) {
    std::vector<std::string> all = {"run", work.file("job.yaml", text), "--run-dir",
                                    work.run_dir()};
    for (auto& set : sets) all.insert(all.end(), {"--set", std::move(set)});
    return all;
  }
  void start_training(const std::vector<std::string>& sets = {}) {
    work_->start(words(*work_, training, sets));
    ASSERT_TRUE(happens_within(60s, [&] {
      return !events_of(work_->run_dir(), "checkpoint").empty() || !work_->running();
    }));
    ASSERT_TRUE(work_->running()) << work_->text_of("stderr");
  }

  /// Of a training that nothing was done to: run once for each length.
  static const std::string& undisturbed(int epochs) {
    static std::map<int, std::string> known;
    auto& weights = known[epochs];
    if (!weights.empty()) return weights;
    const auto work = place(fmt::format("undisturbed-{}", epochs));
    const auto ended = work->run(words(*work, training, {fmt::format("train.epochs={}", epochs)}));
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    weights = weights_of(work->run_dir());
    EXPECT_FALSE(weights.empty());
    return weights;
  }

  /// The run completes, as if nothing had been, and tells of its restarts and why the last was.
  void expect_healed(const testing::Matcher<std::string>& why,
                     const testing::Matcher<int>& restarts = 1, std::chrono::seconds limit = 90s) {
    const auto ended = work_->wait(limit);
    EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
    const auto& expected = undisturbed(epochs_);
    EXPECT_TRUE(weights_of(work_->run_dir()) == expected) << journal();
    EXPECT_THAT(expected,
                StartsWith(fmt::format("step-{:08}", steps_in_history(work_->run_dir()))));
    // Starts that were asked to save end as cancelled.
    const auto ends = events_of(work_->run_dir(), "end");
    EXPECT_EQ(std::count_if(ends.begin(), ends.end(),
                            [](const auto& end) { return end["status"] == "completed"; }),
              1);
    const auto told = summary();
    EXPECT_EQ(told["status"], "completed");
    ASSERT_THAT(told["restarts"].get<int>(), restarts) << told.dump(2) << journal();
    EXPECT_THAT(told["restart_list"].back()["reason"].get<std::string>(), why);
  }
  void expect_stopped(const std::string& why, int exit_code, const std::string& status) {
    const auto ended = work_->wait(60s);
    EXPECT_EQ(ended.exit_code, exit_code) << ended.err << journal();
    EXPECT_THAT(ended.err, HasSubstr(why));
    EXPECT_EQ(summary()["status"], status);
    const auto reader = place("reader");
    EXPECT_THAT(reader->run({"status", work_->run_dir()}).out, HasSubstr(why)) << journal();
  }

  nlohmann::json summary() {
    return nlohmann::json::parse(work_->text_of("run/summary.json"), nullptr, false);
  }
  std::string journal() const { return work_->text_of("run/supervisor.jsonl"); }
  pid_t rank(int number) {
    const auto found = processes_of(work_->run_dir(), number);
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? 0 : found.front();
  }
  std::vector<pid_t> supervisors() const {
    return programs_of(work_->run_dir(), "/dllaunch", "supervise");
  }
  /// Seconds from then to the first step of a later start of the ranks.
  double seconds_to_next_step(double since) const {
    const auto starts = events_of(work_->run_dir(), "start");
    const double again = starts.empty() ? 0 : starts.back()["time"].get<double>();
    for (const auto& step : events_of(work_->run_dir(), "step")) {
      const double time = step["time"];
      if (again > since && time > again) return time - since;
    }
    return 1e9;
  }

  /// Told to Slurm, which would notice by itself after some 17 s.
  void lose(const std::string& node) {
    lost_.push_back(node);
    cluster_->on_head({"scontrol", "update", "nodename=" + node, "state=down", "reason=test"});
  }

  static std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
  int epochs_ = 5;                 // of the training
  std::vector<std::string> lost_;  // nodes to be revived at the end
};

std::unique_ptr<TestCluster> SupervisedFaults::cluster_;

TEST_P(SupervisedFaults, ARankIsKilled) {
  start_training();
  const double killed = unix_seconds();
  kill(rank(1), SIGKILL);
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(journal(), HasSubstr("was killed by signal 9 (SIGKILL); restart 1 of 3"));
  double noticed = 1e9;
  std::ifstream lines(work_->run_dir() + "/supervisor.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_object() && event.contains("dead_seen"))
      noticed = std::min(noticed, event["dead_seen"].get<double>() - killed);
  }
  const double trained = seconds_to_next_step(killed);
  std::cout << "noticed after " << noticed << " s, trained again after " << trained << " s\n";
  EXPECT_GT(noticed, 0);
  EXPECT_LT(noticed, 5);
  EXPECT_LT(trained, 10);
}

TEST_P(SupervisedFaults, ARankIsStopped) {
  start_training();
  kill(rank(1), SIGSTOP);
  expect_healed(HasSubstr("exited with code"));
  EXPECT_THAT(journal(), HasSubstr("restart 1 of 3"));
}

TEST_P(SupervisedFaults, TheSupervisorIsKilled) {
  start_training();
  const auto found = supervisors();
  ASSERT_EQ(found.size(), 2u) << "one that works and one that waits for it";
  kill(found.back(), SIGKILL);
  expect_healed(HasSubstr("its supervisor was killed"));
}

TEST_P(SupervisedFaults, SomebodyRequeuesTheJob) {
  start_training();
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  expect_healed(HasSubstr("put back into the queue"));
  EXPECT_THAT(work_->text_of("stderr"), HasSubstr("(restart 1)"));
}

TEST_P(SupervisedFaults, AnotherJobComesFirst) {
  start_training();
  cluster_->on_head({"sbatch", "--partition=high", "--nodelist=n2", "--exclusive",
                     "--output=/dev/null", "--wrap", "sleep 1"});
  expect_healed(HasSubstr("had to make room for another job"));
}

/// Ranks cannot be started without it: that costs none of the restarts.
TEST_P(SupervisedFaults, TheControllerIsAway) {
  start_training();
  ASSERT_TRUE(cluster_->tell("stop-controller"));
  kill(rank(1), SIGKILL);
  std::this_thread::sleep_for(60s);
  ASSERT_TRUE(cluster_->tell("start-controller"));
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"), 1, 150s);
}

/// The next start takes the one before it, and trains again what was lost.
TEST_P(SupervisedFaults, TheNewestCheckpointIsDamaged) {
  start_training();
  ASSERT_TRUE(
      happens_within(30s, [&] { return events_of(work_->run_dir(), "checkpoint").size() > 1; }));
  const auto supervisor = supervisors().back();
  kill(supervisor, SIGSTOP);
  kill(rank(1), SIGKILL);
  EXPECT_TRUE(happens_within(20s, [&] { return processes_of(work_->run_dir()).empty(); }));
  const fs::path newest = newest_checkpoint({.path = work_->run_dir()});
  auto bytes = bytes_of(newest / "model.safetensors");
  ASSERT_FALSE(bytes.empty());
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(newest / "model.safetensors", std::ios::binary) << bytes;
  kill(supervisor, SIGCONT);
  expect_healed(HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_EQ(events_of(work_->run_dir(), "start").size(), 2u);
  std::string logs;
  for (const auto& file : fs::directory_iterator(work_->run_dir() + "/out"))
    logs += bytes_of(file.path());
  EXPECT_THAT(logs, HasSubstr("warning: refused " + newest.string()));
}

/// A minute less 50 seconds of grace: the ranks are asked after ten seconds at most, and the job
/// goes back into the queue, until all is trained.
TEST_P(SupervisedFaults, TheTimeLimitComesNear) {
  epochs_ = 12;
  work_->start(words(*work_, training,
                     {"resources.time=1", "recovery.grace_seconds=50", "train.epochs=12"}));
  expect_healed(HasSubstr("ended before its time limit"), Ge(1), 240s);
  EXPECT_THAT(journal(), HasSubstr("ended before its time limit; back into the queue"));
}

TEST_P(SupervisedFaults, SomebodyCancels) {
  start_training();
  cluster_->on_head({"scancel", work_->job_id()});
  expect_stopped("was cancelled", 1, "cancelled");
}

/// The batch script's node, or another: slurmd and what it started the ranks with are gone, ranks
/// and supervisor live on, and Slurm starts the job again elsewhere. Of two at once only one
/// writes.
TEST_P(SupervisedFaults, ANodesDaemonsAreKilled) {
  const std::string node = nodes.at(GetParam() % 2);
  start_training();
  const auto orphan = rank(GetParam() % 2);
  // Else it would be done before its successor begins.
  kill(orphan, SIGSTOP);
  for (const char* name : {"slurmd", "slurmstepd"})
    cluster_->on_node(node, {"pkill", "-KILL", name});
  lose(node);
  EXPECT_TRUE(happens_within(60s, [&] {
    return events_of(work_->run_dir(), "start").size() > 1 || !work_->running();
  })) << journal();
  kill(orphan, SIGCONT);
  expect_healed(AnyOf(HasSubstr("lost"), HasSubstr("with its node")));
}

/// Its ranks are alone in the world, and Slurm starts the job again on the others.
TEST_P(SupervisedFaults, ANodeLosesTheNetwork) {
  start_training();
  const auto orphan = rank(1);
  kill(orphan, SIGSTOP);
  ASSERT_TRUE(cluster_->tell("cut-network", {"n2"}));
  lose("n2");
  EXPECT_TRUE(happens_within(60s, [&] {
    return events_of(work_->run_dir(), "start").size() > 1 || !work_->running();
  })) << journal();
  kill(orphan, SIGCONT);
  expect_healed(AnyOf(HasSubstr("lost"), HasSubstr("with its node")));
}

/// Its peers notice at once, Slurm after some 17 s: until then no restart can succeed.
TEST_P(SupervisedFaults, ANodeIsPoweredOff) {
  start_training();
  lost_.emplace_back("n2");
  ASSERT_TRUE(cluster_->tell("kill-node", {"n2"}));
  expect_healed(AnyOf(HasSubstr("lost"), HasSubstr("with its node")), Ge(1), 150s);
}

std::string command(const std::string& script, const std::string& recovery) {
  return "name: command\nresources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10}\n"
         "run: |\n  cd \"$DLLAUNCH_RUN_DIR\"\n  " +
         script + "\n" + recovery;
}
constexpr const char* thrice = "recovery: {max_restarts: 3}\n";

/// It counts to twenty and keeps its own checkpoint: rank 1 does nothing twice.
TEST_P(SupervisedFaults, ARankExitsOnce) {
  const auto ended = work_->run(
      words(*work_, command("n=$(cat at-$RANK || echo 0); "
                            "while [ $n -lt 20 ]; do n=$((n + 1)); echo $n >> did-$RANK; "
                            "echo $n > at-$RANK; sleep 0.05; "
                            "if [ $RANK = 1 ] && [ $n = 10 ] && mkdir once; then exit 1; fi; done",
                            thrice)));
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("rank 1 on n2 exited with code 1; restart 1 of 3"));
  std::string twenty;
  for (int n = 1; n <= 20; ++n) twenty += std::to_string(n) + "\n";
  EXPECT_EQ(work_->text_of("run/did-1"), twenty);
  EXPECT_EQ(work_->text_of("run/at-0"), "20\n");
  EXPECT_EQ(summary()["restarts"], 1);
}

TEST_P(SupervisedFaults, ARankExitsAlways) {
  work_->start(words(*work_, command("echo x >> tries-$RANK; if [ $RANK = 1 ]; then exit 1; fi; "
                                     "sleep 20",
                                     thrice)));
  expect_stopped("rank 1 on n2 exited with code 1, the same as before", 1, "failed");
  EXPECT_EQ(work_->text_of("run/tries-1"), "x\nx\n");
}

TEST_P(SupervisedFaults, ARankNeverWantsToRunAgain) {
  work_->start(words(*work_, command("echo x >> tries-$RANK; if [ $RANK = 1 ]; then exit 93; fi; "
                                     "sleep 20",
                                     thrice)));
  expect_stopped("exited with code 93, which says: never again", 93, "failed");
  EXPECT_EQ(work_->text_of("run/tries-1"), "x\n");
}

/// A command that nobody has prepared is left as it was.
TEST_P(SupervisedFaults, ACommandWithoutRecoveryIsStartedOnce) {
  work_->start(words(*work_, command("echo x >> tries-$RANK; exit 1", "")));
  expect_stopped("exited with code 1", 1, "failed");
  EXPECT_EQ(work_->text_of("run/tries-1"), "x\n");
}

/// It tidies up and leaves with 0 because Slurm ends it, which is no success.
TEST_P(SupervisedFaults, ACommandThatMakesRoomInGoodOrderIsNotDone) {
  work_->start(words(*work_, command("echo x >> starts-$RANK; [ $(wc -l < starts-$RANK) = 1 ] || "
                                     "exit 0; trap 'exit 0' TERM; while :; do sleep 0.1; done",
                                     "")));
  ASSERT_TRUE(happens_within(60s, [&] { return fs::exists(work_->run_dir() + "/starts-1"); }))
      << work_->text_of("stderr");
  cluster_->on_head({"sbatch", "--partition=high", "--nodelist=n2", "--exclusive",
                     "--output=/dev/null", "--wrap", "sleep 1"});
  const auto ended = work_->wait(90s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_EQ(work_->text_of("run/starts-1"), "x\nx\n") << journal();
  EXPECT_EQ(summary()["restarts"], 1);
}

/// Silence that nobody but the supervisor sees: the ranks print nothing and ignore TERM.
TEST_P(SupervisedFaults, ACommandThatHangsIsEnded) {
  const double began = unix_seconds();
  work_->start(words(
      *work_,
      command("trap '' TERM; if mkdir once-$RANK; then while :; do sleep 1; done; fi", thrice) +
          "runtime: {stall_seconds: 1, stall_abort_seconds: 3}\n"));
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("nothing moved for"));
  EXPECT_LT(unix_seconds() - began, 40);
}

/// srun is gone, the kernel out of memory say, and nobody ends its ranks: they would keep the next
/// ones waiting for ever.
TEST_P(SupervisedFaults, TheStarterIsKilled) {
  work_->start(words(*work_, command("if mkdir once-$RANK; then exec sleep 300; fi", thrice)));
  ASSERT_TRUE(happens_within(60s, [&] {
    return fs::exists(work_->run_dir() + "/once-0") && fs::exists(work_->run_dir() + "/once-1");
  })) << work_->text_of("stderr");
  for (const pid_t starter : programs_of(work_->run_dir(), "srun", "-")) kill(starter, SIGKILL);
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(journal(), HasSubstr("restart 1 of 3"));
}

INSTANTIATE_TEST_SUITE_P(Rounds, SupervisedFaults, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch
