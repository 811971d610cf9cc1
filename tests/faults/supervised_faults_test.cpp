// What kills jobs, done to jobs with a supervisor: a training ends with the weights of one that
// nothing was done to, or the run ends for the reason that it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

/// A few seconds of training on two nodes, with a checkpoint about every second.
constexpr const char* training = R"(name: fault
resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  backend: reference
  dataset: {kind: synthetic, images: 1024, classes: 10, channels: 1, image_size: 28}
  batch_size: 8
  epochs: 8
  validate_every: 100
  optimizer: {lr: 0.05, momentum: 0.9}
runtime: {stall_seconds: 1, stall_abort_seconds: 3}
recovery: {grace_seconds: 20}
)";

int rounds() {
  return std::getenv("DLLAUNCH_TEST_FULL") != nullptr ? 5 : 1;
}

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Of the newest checkpoint; empty: none.
std::string weights_of(const std::string& run_dir) {
  fs::path newest;
  std::error_code error;
  for (fs::directory_iterator at(run_dir + "/checkpoints", error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().filename().string().starts_with("step-")) newest = std::max(newest, at->path());
  }
  return newest.empty() ? "" : newest.filename().string() + bytes_of(newest / "model.safetensors");
}

class SupervisedFaults : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    cluster_ =
        std::make_unique<TestCluster>(std::vector<std::string>{"--nodes", "3", "--cpus", "2"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    auto name = std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
    std::replace(name.begin(), name.end(), '/', '-');
    work_ = place(name);
  }
  void TearDown() override {
    if (!work_) return;
    EXPECT_TRUE(happens_within(20s, [&] { return processes_of(work_->run_dir()).empty(); }));
    EXPECT_EQ(leftovers(), "");
    cluster_->on_head({"scancel", "--user=root"});
    work_->wait(30s);
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
    for (const char* node : {"n1", "n2", "n3"})
      found += cluster_->on_node(node, {"ls", "/dev/shm"});
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

  /// Of a training that nothing was done to: run once.
  static const std::string& undisturbed() {
    static const std::string weights = [] {
      const auto work = place("undisturbed");
      const auto ended = work->run(words(*work, training));
      EXPECT_EQ(ended.exit_code, 0) << ended.err;
      return weights_of(work->run_dir());
    }();
    return weights;
  }

  /// The run completes, as if nothing had been, and tells of one restart and why.
  void expect_healed(const std::string& why, std::chrono::seconds limit = 90s) {
    const auto ended = work_->wait(limit);
    EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
    EXPECT_FALSE(undisturbed().empty());
    EXPECT_TRUE(weights_of(work_->run_dir()) == undisturbed()) << journal();
    // Starts that were asked to save end as cancelled.
    const auto ends = events_of(work_->run_dir(), "end");
    EXPECT_EQ(std::count_if(ends.begin(), ends.end(),
                            [](const auto& end) { return end["status"] == "completed"; }),
              1);
    const auto told = summary();
    EXPECT_EQ(told["status"], "completed");
    ASSERT_EQ(told["restarts"], 1) << told.dump(2) << journal();
    EXPECT_THAT(told["restart_list"][0]["reason"].get<std::string>(), HasSubstr(why));
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
  /// The one that does the work: the guardian above it has the smaller number.
  pid_t supervisor() const {
    const auto mark = "/dllaunch" + std::string(1, '\0') + "supervise";
    pid_t found = 0;
    std::error_code error;
    for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
      const auto line = bytes_of(at->path() / "cmdline");
      if (line.find(mark) < 200 && line.find(work_->run_dir()) != std::string::npos)
        found = std::max(found, std::atoi(at->path().filename().c_str()));
    }
    return found;
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

  static std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
};

std::unique_ptr<TestCluster> SupervisedFaults::cluster_;

TEST_P(SupervisedFaults, ARankIsKilled) {
  start_training();
  const double killed = unix_seconds();
  kill(rank(1), SIGKILL);
  expect_healed("was killed by signal 9 (SIGKILL)");
  EXPECT_THAT(journal(), HasSubstr("was killed by signal 9 (SIGKILL); restart 1 of 3"));
  double noticed = 1e9;
  std::ifstream lines(work_->run_dir() + "/supervisor.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (event.value("event", "") == "decision")
      noticed = std::min(noticed, event.value("time", 1e9) - killed);
  }
  const double trained = seconds_to_next_step(killed);
  std::cout << "noticed after " << noticed << " s, trained again after " << trained << " s\n";
  EXPECT_LT(noticed, 5);
  EXPECT_LT(trained, 10);
}

TEST_P(SupervisedFaults, ARankIsStopped) {
  start_training();
  kill(rank(1), SIGSTOP);
  expect_healed("exited with code");
  EXPECT_THAT(journal(), HasSubstr("restart 1 of 3"));
}

TEST_P(SupervisedFaults, TheSupervisorIsKilled) {
  start_training();
  const auto victim = supervisor();
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);
  expect_healed("its supervisor was killed");
}

TEST_P(SupervisedFaults, SomebodyRequeuesTheJob) {
  start_training();
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  expect_healed("put back into the queue");
  EXPECT_THAT(work_->text_of("stderr"), HasSubstr("(restart 1)"));
}

TEST_P(SupervisedFaults, AnotherJobComesFirst) {
  start_training();
  cluster_->on_head({"sbatch", "--partition=high", "--nodelist=n2", "--exclusive",
                     "--output=/dev/null", "--wrap", "sleep 1"});
  expect_healed("had to make room for another job");
}

/// Ranks cannot be started without it: that costs none of the restarts.
TEST_P(SupervisedFaults, TheControllerIsAway) {
  start_training();
  ASSERT_TRUE(cluster_->tell("stop-controller"));
  kill(rank(1), SIGKILL);
  std::this_thread::sleep_for(rounds() > 1 ? 60s : 12s);
  ASSERT_TRUE(cluster_->tell("start-controller"));
  expect_healed("was killed by signal 9 (SIGKILL)", 150s);
}

/// A minute less 50 seconds of grace: the ranks are asked after some ten seconds, and the job goes
/// back into the queue.
TEST_P(SupervisedFaults, TheTimeLimitComesNear) {
  work_->start(words(*work_, training,
                     {"resources.time=1", "recovery.grace_seconds=50", "train.epochs=40"}));
  ASSERT_TRUE(happens_within(80s, [&] {
    return journal().find("\"requeue\"") != std::string::npos || !work_->running();
  })) << work_->text_of("stderr");
  EXPECT_THAT(journal(), HasSubstr("ended before its time limit; back into the queue"));
  ASSERT_TRUE(happens_within(
      40s, [&] { return events_of(work_->run_dir(), "restart").size() > 0 || !work_->running(); }));
  EXPECT_TRUE(work_->running()) << work_->text_of("stderr") << journal();
}

TEST_P(SupervisedFaults, SomebodyCancels) {
  start_training();
  cluster_->on_head({"scancel", work_->job_id()});
  expect_stopped("was cancelled", 1, "cancelled");
}

/// A node's slurmd and what it started the ranks with are gone; the ranks live on, and Slurm starts
/// the job again elsewhere: two at once, of which the older one may write nothing.
TEST_P(SupervisedFaults, ANodesDaemonsAreKilled) {
  start_training({"train.epochs=60"});
  for (const char* name : {"slurmd", "slurmstepd"})
    cluster_->on_node("n2", {"pkill", "-KILL", name});
  ASSERT_TRUE(happens_within(
      60s, [&] { return events_of(work_->run_dir(), "start").size() > 1 || !work_->running(); }))
      << work_->text_of("stderr") << journal();
  EXPECT_TRUE(work_->running()) << work_->text_of("stderr") << journal();
  cluster_->tell("kill-node", {"n2"});
  cluster_->tell("revive-node", {"n2"});
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

INSTANTIATE_TEST_SUITE_P(Rounds, SupervisedFaults, testing::Range(0, rounds()));

}  // namespace
}  // namespace dllaunch
