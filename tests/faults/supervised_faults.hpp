// A supervised job on the real test Slurm, for something to be done to it, and what must hold
// after.
#pragma once

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "launcher/run/events.hpp"
#include "launcher/run/history.hpp"
#include "launcher/run/run_dir.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {

namespace fs = std::filesystem;

/// A few seconds of training on two nodes, with a checkpoint an epoch; epochs_of_seconds() says how
/// many. MPI_Init has to fit into stall_abort_seconds too.
inline constexpr const char* training = R"(name: fault
resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: lenet
  backend: reference
  dataset: {kind: synthetic, images: 1024, classes: 10, channels: 1, image_size: 28}
  batch_size: 8
  validate_every: 100
  optimizer: {lr: 0.05, momentum: 0.9}
runtime: {stall_seconds: 1, stall_abort_seconds: 10}
recovery: {grace_seconds: 20}
)";

inline constexpr int rounds = 5;
inline constexpr std::array<const char*, 3> nodes = {"n1", "n2", "n3"};

/// Each fault once in CI; what shows it again in another light has five rounds with --full.
inline bool runs_here(const std::string& cell, int round) {
  static const std::set<std::string> only_full = {"OneRunAndItsGoodput",
                                                  "ARankOfAScriptIsStopped",
                                                  "AScriptNearsItsTimeLimit",
                                                  "AUserRequeuesAScript",
                                                  "ANodeOfAScriptIsPoweredOff",
                                                  "ARequeuedJobHasAllNodesAgain",
                                                  "ARankOfAStageIsStopped",
                                                  "ARankOfAStageIsSlow",
                                                  "ARankOfAStageIsStoppedInAGather",
                                                  "ARankOfSplitLayersIsStopped",
                                                  "ARankOfSplitLayersIsSlow",
                                                  "ARankIsFoundAndASpareNodeTakesOver",
                                                  "WithoutASpareNodeTheJobGoesBackWithoutIt"};
  return full_tier() || (round == 0 && !only_full.contains(cell));
}

inline double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

inline std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Of the newest checkpoint, its name before them; empty: there is none.
inline std::string weights_of(const std::string& run_dir) {
  const fs::path newest = newest_checkpoint({.path = run_dir});
  return newest.empty() ? "" : newest.filename().string() + bytes_of(newest / "model.safetensors");
}

/// Of each epoch, over all of its steps.
inline std::map<std::int64_t, double> losses_of_epochs(const std::string& run_dir) {
  std::map<std::int64_t, double> all;
  for (const auto& epoch : events_of(run_dir, "epoch")) all[epoch["epoch"]] = epoch["loss"];
  return all;
}

/// What a training has come to; its files go with its cluster.
struct FinishedTraining {
  std::string weights = {};
  std::map<std::int64_t, double> losses = {};
};

/// As a reader of the run counts them: each step once, in order.
inline std::int64_t steps_in_history(const std::string& run_dir) {
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
 public:
  static void end_cluster() {
    if (!cluster_) return;
    cluster_.reset();
    umount2(small_disk_.path().c_str(), MNT_DETACH);
  }

 protected:
  void SetUp() override {
    auto name = std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
    if (!runs_here(name.substr(0, name.find('/')), GetParam())) GTEST_SKIP() << "only with --full";
    if (kill_wait_of_cluster_ != kill_wait_s()) {
      end_cluster();
      mount_small_disk();
      cluster_ = std::make_unique<TestCluster>(
          std::vector<std::string>{"--nodes", "3", "--cpus", "2", "--share", small_disk_.path(),
                                   "--conf", fmt::format("KillWait={}", kill_wait_s())});
      kill_wait_of_cluster_ = kill_wait_s();
    }
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    std::replace(name.begin(), name.end(), '/', '-');
    work_ = place(name);
  }
  void TearDown() override {
    if (!work_) return;
    if (!HasFailure()) {
      EXPECT_TRUE(happens_within(std::chrono::seconds(20),
                                 [&] { return processes_of(work_->run_dir()).empty(); }));
      EXPECT_TRUE(happens_within(std::chrono::seconds(20), [&] { return supervisors().empty(); }));
      EXPECT_EQ(leftovers(), "");
    }
    cluster_->on_head({"scancel", "--user=root"});
    work_->wait(std::chrono::seconds(30));
    for (const auto& node : lost_) {
      cluster_->tell("kill-node", {node});
      EXPECT_TRUE(cluster_->tell("revive-node", {node}));
    }
    for (const char* node : nodes) cluster_->on_node(node, {"sh", "-c", "rm -rf /dev/shm/*"});
    EXPECT_TRUE(happens_within(std::chrono::seconds(30), [] { return queue().empty(); }))
        << queue();
  }

  /// Slurm's own is 30 s. Two cores do three clusters' work here.
  virtual int kill_wait_s() const { return 10; }

  /// In a private mount namespace: only nodes started afterwards see the disk.
  static void mount_small_disk() {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return;
    mount("small", small_disk_.path().c_str(), "tmpfs", 0, "size=32m,mode=0777");
  }

  static std::unique_ptr<Workplace> place(const std::string& name, std::string folder = "") {
    if (folder.empty()) folder = cluster_->share();
    auto work = std::make_unique<Workplace>(folder + "/" + name);
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

  static std::vector<std::string> argv(Workplace& work, const std::string& text,
                                       std::vector<std::string> sets = {}) {
    std::vector<std::string> all = {"run", work.file("job.yaml", text), "--run-dir",
                                    work.run_dir()};
    for (auto& set : sets) all.insert(all.end(), {"--set", std::move(set)});
    return all;
  }
  void start_training(const std::vector<std::string>& sets = {},
                      const std::string& text = training) {
    started_ = unix_seconds();
    std::vector<std::string> all = {fmt::format("train.epochs={}", epochs_)};
    all.insert(all.end(), sets_.begin(), sets_.end());
    all.insert(all.end(), sets.begin(), sets.end());
    work_->start(argv(*work_, text, all));
    ASSERT_TRUE(happens_within(std::chrono::seconds(60), [&] {
      return !events_of(work_->run_dir(), "checkpoint").empty() || !work_->running();
    }));
    ASSERT_TRUE(work_->running()) << work_->text_of("stderr");
  }

  /// The same with rank 1 stopped, so that what takes a while to happen finds the job running.
  /// Slurm lets a rank go on before it ends it.
  pid_t start_and_hold() {
    start_training({"runtime.stall_abort_seconds=300"});
    const auto held = rank(1);
    kill(held, SIGSTOP);
    return held;
  }

  /// A training that nothing was done to: run once for each length and `sets_`.
  const FinishedTraining& undisturbed() const {
    static std::map<std::vector<std::string>, FinishedTraining> known;
    auto sets = sets_;
    sets.push_back(fmt::format("train.epochs={}", epochs_));
    auto& trained = known[sets];
    if (!trained.weights.empty()) return trained;
    const auto work = place(fmt::format("undisturbed-{}", known.size()));
    work->start(argv(*work, training, sets));
    const auto ended = work->wait(std::chrono::seconds(90 + 3 * epochs_));
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    trained = {.weights = weights_of(work->run_dir()), .losses = losses_of_epochs(work->run_dir())};
    EXPECT_FALSE(trained.weights.empty());
    return trained;
  }

  /// The run completes, as if nothing had been, and tells of its restarts and why the last was.
  void expect_healed(const testing::Matcher<std::string>& why,
                     const testing::Matcher<int>& restarts = 1,
                     std::chrono::seconds limit = std::chrono::seconds(90)) {
    const auto ended = work_->wait(limit);
    EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
    const std::string& expected = undisturbed().weights;
    EXPECT_TRUE(weights_of(work_->run_dir()) == expected) << journal();
    const auto last = fmt::format("step-{:08}", steps_in_history(work_->run_dir()));
    EXPECT_EQ(expected.substr(0, last.size()), last);
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
    const auto ended = work_->wait(std::chrono::seconds(60));
    EXPECT_EQ(ended.exit_code, exit_code) << ended.err << journal();
    EXPECT_THAT(ended.err, testing::HasSubstr(why));
    EXPECT_EQ(summary()["status"], status);
    const auto reader = place("reader");
    EXPECT_THAT(reader->run({"status", work_->run_dir()}).out, testing::HasSubstr(why))
        << journal();
  }

  Json summary() { return Json::parse(work_->text_of("run/summary.json"), nullptr, false); }
  std::string journal() const { return work_->text_of("run/supervisor.jsonl"); }
  pid_t rank(int number) {
    const auto found = processes_of(work_->run_dir(), number);
    EXPECT_EQ(found.size(), 1u);
    // To signal 0 would be to signal this program's whole group.
    return found.empty() ? std::numeric_limits<pid_t>::max() : found.front();
  }
  /// Stops a rank until a signal waits for it, so that no machine is fast enough to end the run
  /// before its time limit comes near. A rank that is gone was asked already.
  void hold_until_asked(int number) const {
    for (const pid_t held : processes_of(work_->run_dir(), number)) {
      kill(held, SIGSTOP);
      EXPECT_TRUE(happens_within(std::chrono::seconds(90), [held] {
        const auto status = bytes_of(fmt::format("/proc/{}/status", held));
        constexpr std::string_view key = "ShdPnd:\t";
        // Not SIGSTOP, which waits there itself until it is delivered.
        constexpr auto asking = 1ULL << (SIGUSR2 - 1) | 1ULL << (SIGTERM - 1);
        const auto pending = status.find(key);
        return pending == std::string::npos ||
               (std::stoull(status.substr(pending + key.size(), 16), nullptr, 16) & asking) != 0;
      })) << journal();
      kill(held, SIGCONT);
    }
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

  /// Seconds that a recovery may take: 10, or on a busy machine twice the job's first start.
  double longest_recovery() const {
    const auto steps = events_of(work_->run_dir(), "step");
    const double first = steps.empty() ? started_ : steps.front()["time"].get<double>();
    return std::max(10.0, 2 * (first - started_));
  }

  /// Told to Slurm, which would notice by itself after some 17 s.
  void lose(const std::string& node) {
    lost_.push_back(node);
    cluster_->on_head({"scontrol", "update", "nodename=" + node, "state=down", "reason=test"});
  }

  /// How long Slurm waits for a silent node before it marks it down.
  static void set_slurmd_timeout(int seconds) {
    cluster_->on_head({"sed", "-i", fmt::format("s/^SlurmdTimeout=.*/SlurmdTimeout={}/", seconds),
                       "/etc/slurm/slurm.conf"});
    cluster_->on_head({"scontrol", "reconfigure"});
  }

  /// Of all suites of the program, but for one with another KillWait: bringing one up takes longer
  /// than many a cell.
  static inline std::unique_ptr<TestCluster> cluster_;
  static inline int kill_wait_of_cluster_ = -1;
  static inline TemporaryFolder small_disk_;  // of its own, which can be full
  std::unique_ptr<Workplace> work_;
  std::vector<std::string> sets_;     // of the training, disturbed or not
  int epochs_ = epochs_of_seconds();  // likewise
  double started_ = 0;                // unix time of `dllaunch run`
  std::vector<std::string> lost_;     // nodes to be revived at the end
};

/// After the last suite.
class EndOfCluster : public testing::Environment {
  void TearDown() override { SupervisedFaults::end_cluster(); }
};
inline testing::Environment* const end_of_cluster =
    testing::AddGlobalTestEnvironment(new EndOfCluster);

}  // namespace dllaunch
