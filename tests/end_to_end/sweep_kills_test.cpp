// Sweeps with ASHA whose parts are killed at random moments, here and on a real Slurm beside the
// daemon: every trial ends as in an undisturbed sweep, with the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "launcher/daemon/client/client.hpp"
#include "launcher/daemon/client/daemon_lock.hpp"
#include "tests/end_to_end/local_run.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// One trial at a time: with more, who is promoted depends on who ends first.
std::string asha_job(const std::string& resources, int trials, int epochs) {
  return "name: asha\n"
         "resources: {ranks_per_node: 1, device: cpu" +
         resources +
         "}\n"
         "train:\n"
         "  model: lenet\n"
         "  dataset: {kind: synthetic, images: 256, classes: 10, channels: 1, image_size: 28}\n"
         "  batch_size: 16\n"
         "  epochs: " +
         std::to_string(epochs) +
         "\n  optimizer: {lr: 0.05}\n"
         "recovery: {grace_seconds: 20}\n"
         "sweep: {parameters: {train.optimizer.lr: {log: [0.0001, 0.1]}}, metric: val_loss,\n"
         "        scheduler: asha, concurrent: 1, trials: " +
         std::to_string(trials) + "}\n";
}

/// What must not depend on kills.
std::string results_in(const Workplace& work, const std::string& sweep) {
  const auto json = Json::parse(work.text_of(sweep + "/sweep.json"), nullptr, false);
  if (!json.is_object()) return "no sweep.json";
  std::string text;
  for (const auto& trial : json["trials"]) {
    for (const char* key : {"number", "state", "value", "epochs", "parameters", "reason"})
      text += trial[key].dump() + " ";
    text += "\n";
  }
  return text;
}

bool kill_driver(const std::string& dir) {
  const auto drivers = programs_of(dir, "/dllaunch", "sweep");
  return !drivers.empty() && kill(drivers.front(), SIGKILL) == 0;
}
bool kill_trial(const std::string& dir) {
  const auto trials = trials_of(dir);
  return !trials.empty() && kill(trials.front().dllaunch, SIGKILL) == 0;
}

/// Fewer than the attempts after which a trial has failed.
constexpr int most_kills_of_a_sweep = 8;

/// Starts sweeps until `kills` have been tried, each again until it ends by itself.
/// `kill_something`: whether it has.
template <typename Kill>
void disturb_sweeps(Workplace& work, const std::string& file, int kills,
                    const std::vector<std::string>& more, Kill kill_something) {
  const auto args = [&](const std::string& name) {
    std::vector<std::string> all = {"sweep", file, "--run-dir", work.path() + "/" + name};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  work.start(args("undisturbed"));
  const auto first = work.wait(240s);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto wanted = results_in(work, "undisturbed");
  std::mt19937 random(20261126);
  int killed = 0;
  for (int round = 0; killed < kills; ++round) {
    // A sweep on a fast machine may be over before anything is killed.
    ASSERT_LT(round, 20 * kills) << "nothing is there to be killed";
    const auto name = "killed-" + std::to_string(round);
    Ended ended;
    ended.exit_code = 128 + SIGKILL;
    for (int here = 0; ended.exit_code == 128 + SIGKILL;) {
      work.start(args(name));
      while (work.running() && here < most_kills_of_a_sweep && killed < kills) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 1500));
        if (!work.running() || !kill_something(work.path() + "/" + name, killed)) continue;
        ++here;
        ++killed;
      }
      ended = work.wait(240s);
    }
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    ASSERT_EQ(results_in(work, name), wanted) << name << "\n" << ended.err;
  }
}

class SweepKills : public LocalRun {};

TEST_F(SweepKills, WithAshaEveryTrialEndsAsUndisturbed) {
  std::mt19937 random(20261127);
  const auto kill_one = [&](const std::string& dir, int) {
    return random() % 2 == 0 ? kill_driver(dir) : kill_trial(dir);
  };
  disturb_sweeps(work_, work_.file("asha.yaml", asha_job("", 3, 4)), full_tier() ? 60 : 5,
                 {"--local"}, kill_one);
}

class SlurmSweepKills : public testing::Test {
 protected:
  void SetUp() override {
    cluster_ = std::make_unique<TestCluster>(
        std::vector<std::string>{"--nodes", "2", "--cpus", "2", "--conf", "KillWait=5"});
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    work_ = std::make_unique<Workplace>(cluster_->share() + "/kills");
    other_ = std::make_unique<Workplace>(cluster_->share() + "/daemon");
    work_->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work_->path() + "/cache"}};
    work_->before = cluster_->login();
    // The same user's: its daemon sees the trials' runs.
    other_->environment = work_->environment;
    other_->before = cluster_->login();
    other_->before.insert(other_->before.end(),
                          {"env", "XDG_STATE_HOME=" + work_->path() + "/state"});
  }
  void TearDown() override {
    if (other_) other_->run({"daemon", "stop"});
  }

  void start_daemon() const {
    const auto started = other_->run({"daemon", "start", "--interval", "0.3", "--settle", "2"});
    EXPECT_EQ(started.exit_code, 0) << started.err;
  }
  bool kill_daemon() const {
    const DaemonPaths paths{.folder = work_->path() + "/state/dllaunch/daemon"};
    const auto answer = ask_daemon(paths, "GET", "/v1/daemon", 30s);
    if (!answer || kill(answer->pid, SIGKILL) != 0) return false;
    EXPECT_TRUE(happens_within(10s, [&] { return !holder_of(paths.lock()); }));
    start_daemon();
    return true;
  }
  static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

  bool requeue_job() const {
    const auto job =
        first_line(cluster_->on_head({"squeue", "--noheader", "--states=running", "--format=%i"}));
    if (job.empty()) return false;
    cluster_->on_head({"scontrol", "requeue", job});
    std::printf("requeued %s\n", job.c_str());
    return true;
  }
  /// The ranks: a signal KILL to the whole job cancels it, which is a person's word.
  bool kill_step() const {
    const auto step =
        first_line(cluster_->on_head({"bash", "-c", "squeue --steps -h -o %i | grep '[.][0-9]'"}));
    if (step.empty()) return false;
    cluster_->on_head({"scancel", "--signal=KILL", step});
    std::printf("killed %s\n", step.c_str());
    return true;
  }

  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
  std::unique_ptr<Workplace> other_;
};

TEST_F(SlurmSweepKills, WithAshaEveryTrialEndsAsUndisturbed) {
  start_daemon();
  const auto kill_one = [&](const std::string& dir, int number) {
    switch (number % 5) {
      case 0:
        return kill_step();
      case 1:
        return kill_trial(dir);
      case 2:
        return kill_daemon();
      case 3:
        return kill_driver(dir);
      default:
        return requeue_job();
    }
  };
  const auto file = work_->file(
      "asha.yaml", asha_job(", nodes: 1, exclusive: false, cpus_per_rank: 1, time: 5", 2, 2));
  disturb_sweeps(*work_, file, full_tier() ? 60 : 5, {}, kill_one);
}

}  // namespace
}  // namespace dllaunch
