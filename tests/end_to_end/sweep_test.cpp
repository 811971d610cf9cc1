// Sweeps: of the built-in trainer and of commands, killed at random moments, with the real Optuna.
// On a real Slurm: study_test.cpp, which has a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "launcher/base/split.hpp"
#include "tests/end_to_end/browser.hpp"
#include "tests/end_to_end/local_run.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/tier.hpp"
#include "tests/topology/discovery/xml_node.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

class SweepHere : public LocalRun {
 protected:
  std::vector<std::string> sweep(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"sweep", file, "--local", "--run-dir", dir()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string dir() const { return work_.path() + "/sweep"; }
  Json result() { return Json::parse(work_.text_of("sweep/sweep.json")); }

  /// A command whose metric is 1 - (x - 0.3)^2; `before` runs first.
  std::string parabola(const std::string& sweep, const std::string& before = "true") {
    return work_.file("parabola.yaml",
                      "name: parabola\nresources: {ranks_per_node: 1, device: cpu}\n"
                      "run: \"" +
                          before +
                          "; awk 'BEGIN { x = {x}; print \\\"acc=\\\" 1 - (x - 0.3) ^ 2 }'\"\n"
                          "sweep: {parameters: {x: {linear: [0, 1]}}, value: 'acc=([0-9.e-]+)', "
                          "metric: acc, " +
                          sweep + "}\n");
  }

  /// A machine with two GPUs, whose driver counts from the far end of the PCI buses.
  void pretend_gpus() {
    const auto gpu = [](int bus, const char* name) {
      return pci_device(bus, "0302 [10de:2330]", osdev(name, gpu_type));
    };
    work_.environment = {{"HWLOC_XMLFILE", work_.file("node.xml", xml_node(gpu(0x03, "nvml1") +
                                                                           gpu(0xc1, "nvml0")))}};
  }
  std::string output_of_trial(int number) {
    const auto out = "sweep/trial-0000" + std::to_string(number) + "/out";
    for (const auto& name : entries_of(work_.path() + "/" + out))
      if (name.starts_with("rank-0000-")) return work_.text_of(out + "/" + name);
    return "";
  }

  /// Python with Optuna; empty: none.
  static std::string python() {
    const std::string folder = DLLAUNCH_SOURCE_DIR "/build/frameworks/optuna";
    return fs::exists(folder + "/complete") ? folder + "/bin/python" : "";
  }
  /// What Optuna says of the journal: its trials' numbers and states.
  Json read_by_optuna(const std::string& study) {
    constexpr const char* script =
        "import json, sys, optuna\n"
        "from optuna.storages import JournalStorage\n"
        "from optuna.storages.journal import JournalFileBackend\n"
        "study = optuna.load_study(study_name=sys.argv[2],\n"
        "    storage=JournalStorage(JournalFileBackend(sys.argv[1])))\n"
        "print(json.dumps([[t.number, t.state.name, t.params, t.values] for t in study.trials]))\n";
    PosixSystem system{Console{}};
    const auto told = system.run({python(), "-c", script, dir() + "/optuna.journal", study}, 60s);
    EXPECT_TRUE(told && told->exit_code == 0) << (told ? told->err : told.error().what);
    return told && told->exit_code == 0 ? Json::parse(told->out) : Json::array();
  }
};

/// The first trial cannot print its number, its dllaunch cannot write how it ended, and the driver
/// cannot write sweep.json.
TEST_F(SweepHere, ADiskThatIsFullForAWhileCostsNoTrial) {
  fs::create_directory(dir());
  const SmallDisk disk(dir(), "size=16m");
  if (!disk.made()) GTEST_SKIP() << "no disk can be mounted here: that needs root";
  const auto go = work_.path() + "/go";
  work_.start(
      sweep(parabola("trials: 2, concurrent: 1", "while [ ! -e " + go + " ]; do sleep 0.1; done")));
  const auto trial = dir() + "/trial-00000";
  ASSERT_TRUE(
      happens_within(60s, [&] { return !processes_of(trial, 0).empty() || !work_.running(); }));
  disk.fill();
  work_.file("go", "");
  ASSERT_TRUE(happens_within(60s, [&] {
    return work_.text_of("sweep/trial-00000.log").find("No space left on device: waiting") !=
           std::string::npos;
  })) << work_.text_of("sweep/trial-00000.log");
  disk.free();
  const auto ended = work_.wait();
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("trial 0: running"));
  EXPECT_THAT(ended.err, HasSubstr("No space left on device"));
  for (const auto& one : result()["trials"]) EXPECT_EQ(one["state"], "completed") << one;
}

/// The first has a summary, and small files have room; the other ends when the first was looked at
/// again.
TEST_F(SweepHere, ATrialThatWaitsForTheDiskHoldsUpNoOther) {
  fs::create_directory(dir());
  const SmallDisk disk(dir(), "size=16m");
  if (!disk.made()) GTEST_SKIP() << "no disk can be mounted here: that needs root";
  const auto go = work_.path() + "/go";
  const auto failed = work_.path() + "/failed";
  work_.start(sweep(parabola(
      "trials: 2, concurrent: 2",
      "while [ ! -e " + go + " ]; do sleep 0.1; done; case $DLLAUNCH_RUN_DIR in *0) if [ ! -e " +
          failed + " ]; then touch " + failed + "; exit 3; fi;; *) sleep 8;; esac")));
  const auto begins = [&](const char* trial) { return !processes_of(dir() + trial, 0).empty(); };
  ASSERT_TRUE(
      happens_within(60s, [&] { return begins("/trial-00000") && begins("/trial-00001"); }));
  disk.fill(std::size_t{200} << 10);
  work_.file("go", "");
  const auto state = [&](std::size_t trial) {
    const Json all = result()["trials"];
    return trial < all.size() ? all[trial].value("state", "") : "";
  };
  EXPECT_TRUE(happens_within(60s, [&] { return state(1) == "completed"; }));
  EXPECT_EQ(state(0), "running");
  disk.free();
  const auto ended = work_.wait();
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const std::string waits = "No space left on device: waiting";
  const auto told = ended.err.find(waits);
  EXPECT_EQ(ended.err.find(waits, told + 1), std::string::npos) << ended.err;
  for (const auto& one : result()["trials"]) EXPECT_EQ(one["state"], "completed") << one;
}

/// It is judged when the disk has room: as one that its driver stopped.
TEST_F(SweepHere, ATrialThatTookTooLongWhileTheDiskWasFullTookTooLong) {
  fs::create_directory(dir());
  const SmallDisk disk(dir(), "size=16m");
  if (!disk.made()) GTEST_SKIP() << "no disk can be mounted here: that needs root";
  const auto once = work_.path() + "/once";
  work_.start(sweep(
      parabola("trials: 1", "if [ ! -e " + once + " ]; then touch " + once + "; sleep 300; fi"),
      {"--set", "resources.time='0:15'"}));
  ASSERT_TRUE(happens_within(60s, [&] { return fs::exists(once); }));
  disk.fill(std::size_t{200} << 10);
  ASSERT_TRUE(happens_within(60s, [&] {
    return work_.text_of("stderr").find("No space left on device: waiting") != std::string::npos;
  })) << work_.text_of("stderr");
  disk.free();
  const auto ended = work_.wait();
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("trial 0: running"));
  EXPECT_THAT(ended.err, HasSubstr("(it took longer than resources.time"));
  EXPECT_EQ(result()["trials"][0]["state"], "completed");
}

/// Neither its trial's summary nor its own records wait their minute for room.
TEST_F(SweepHere, OneThatIsStoppedWaitsForNoDisk) {
  fs::create_directory(dir());
  const SmallDisk disk(dir(), "size=16m");
  if (!disk.made()) GTEST_SKIP() << "no disk can be mounted here: that needs root";
  work_.start(sweep(parabola("trials: 1", "sleep 300")));
  const auto trial = dir() + "/trial-00000";
  ASSERT_TRUE(happens_within(60s, [&] { return !processes_of(trial, 0).empty(); }));
  disk.fill();
  work_.signal(SIGINT);
  EXPECT_TRUE(happens_within(50s, [&] { return !work_.running(); })) << work_.text_of("stderr");
  disk.free();
}

TEST_F(SweepHere, AshaContinuesTheBestTrialsFromTheirCheckpoints) {
  const auto file =
      work_.file("asha.yaml",
                 std::string(tiny_local_job) +
                     "sweep: {parameters: {train.optimizer.lr: {log: [0.0001, 0.1]}}, trials: 4,\n"
                     "        scheduler: asha, reduction: 2, max_epochs: 4, concurrent: 2}\n");
  const auto ended = work_.run(sweep(file, {"--set", "resources.ranks_per_node=1"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = result();
  ASSERT_EQ(json["trials"].size(), 4U);
  std::multiset<int> epochs;
  for (const auto& trial : json["trials"]) epochs.insert(trial["epochs"].get<int>());
  EXPECT_EQ(*epochs.begin(), 1);
  EXPECT_EQ(*epochs.rbegin(), 4);
  const std::string best = json["best"]["run"];
  EXPECT_EQ(events_of(dir() + "/" + best, "epoch").size(), 4U) << "no epoch was trained twice";
  const auto status = work_.run({"status", dir()});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("4 of 4 trials"));
  PosixSystem system{Console{}};
  if (!system.find_program("chromium")) GTEST_SKIP() << "unavailable: chromium";
  expect_whole_page(system, work_.path(), dir() + "/sweep.html", "sweep", 1600,
                    {"The best trials, epoch by epoch", ">epochs</text>", ">val_accuracy</text>",
                     "best so far", ">train.optimizer.lr</text>"});
}

/// A command is started again in the same directory, with more epochs, and says so each time.
TEST_F(SweepHere, AshaContinuesACommandFromItsOwnCheckpoint) {
  const auto file = work_.file(
      "command.yaml",
      "name: command\nresources: {ranks_per_node: 1, device: cpu}\n"
      "run: \"echo $EPOCHS >> epochs_of_{x}; echo acc=$(({x} * EPOCHS))\"\n"
      "environment: {variables: {EPOCHS: '{epochs}'}}\n"
      "sweep: {parameters: {x: {int: [1, 4]}}, sampler: grid, value: 'acc=([0-9]+)', metric: acc,\n"
      "        scheduler: asha, max_epochs: 4}\n");
  const auto ended = work_.run(sweep(file));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = result();
  EXPECT_EQ(json["best"]["value"], 16) << json.dump();
  EXPECT_EQ(json["best"]["parameters"]["x"], 4);
  EXPECT_EQ(work_.text_of("epochs_of_4"), "1\n2\n4\n");
  EXPECT_EQ(work_.text_of("epochs_of_1"), "1\n");
}

/// Each waits for the other, so both run at a time.
TEST_F(SweepHere, TrialsOnOneMachineHaveGpusOfTheirOwn) {
  pretend_gpus();
  const auto file = work_.file(
      "gpus.yaml",
      "name: gpus\nresources: {ranks_per_node: 1, gpus_per_node: 1}\n"
      "run: \"touch here_{x}; for i in $(seq 600); do [ -e here_1 ] && [ -e here_2 ] && break; "
      "sleep 0.1; done; echo drives $DLLAUNCH_GPUS as $CUDA_VISIBLE_DEVICES; "
      "echo acc=$(ls here_1 here_2 | wc -l)\"\n"
      "sweep: {parameters: {x: {choice: [1, 2]}}, sampler: grid, value: 'acc=(.*)', "
      "metric: acc}\n");
  const auto ended = work_.run(sweep(file));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("2 trials, 2 at a time"));
  for (const auto& trial : result()["trials"]) EXPECT_EQ(trial["value"], 2) << trial.dump();
  EXPECT_THAT(output_of_trial(0), HasSubstr("drives 0000:c1:00.0 as 0\n"));
  EXPECT_THAT(output_of_trial(1), HasSubstr("drives 0000:03:00.0 as 1\n"));
}

/// A trial uses more than there is, whatever the machine: none starts after it.
TEST_F(SweepHere, GpuHoursEndASweepAndMoreContinueIt) {
  pretend_gpus();
  const auto file = work_.file(
      "hours.yaml",
      "name: hours\nresources: {ranks_per_node: 1, gpus_per_node: 2}\n"
      "run: \"sleep 0.5; echo acc={x}\"\n"
      "sweep: {parameters: {x: {int: [1, 3]}}, sampler: grid, value: 'acc=(.*)', metric: acc,\n"
      "        gpu_hours: 0.0002}\n");  // 0.72 s
  const auto ended = work_.run(sweep(file));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("sweep.gpu_hours are used up: no further trial starts"));
  EXPECT_EQ(result()["trials"].size(), 1U);
  const auto again = work_.run(sweep(file));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(result()["trials"].size(), 1U) << "what is used up stays used up";
  const auto more = work_.run(sweep(file, {"--set", "sweep.gpu_hours=9"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(result()["trials"].size(), 3U);
  EXPECT_EQ(result()["best"]["value"], 3);
}

/// A driver that was killed took its trials with it before it could count what they had used.
TEST_F(SweepHere, GpuHoursOfAKilledDriverCount) {
  pretend_gpus();
  const auto file = work_.file(
      "hours.yaml",
      "name: hours\nresources: {ranks_per_node: 1, gpus_per_node: 2}\n"
      "recovery: {grace_seconds: 10}\n"
      "run: \"sleep 0.5; echo {x} >> started; sleep 600\"\n"
      "sweep: {parameters: {x: {int: [1, 3]}}, sampler: grid, value: 'acc=(.*)', metric: acc,\n"
      "        gpu_hours: 0.0002}\n");  // 0.72 s
  work_.start(sweep(file));
  ASSERT_TRUE(happens_within(60s, [&] { return work_.text_of("started") == "1\n"; }));
  work_.signal(SIGKILL);
  work_.wait(60s);
  ASSERT_TRUE(happens_within(60s, [&] { return trials_of(dir()).empty(); }));
  const auto ended = work_.run(sweep(file));
  EXPECT_THAT(ended.err, HasSubstr("sweep.gpu_hours are used up: no further trial starts"));
  EXPECT_EQ(work_.text_of("started"), "1\n");
  EXPECT_EQ(result()["trials"].size(), 1U);
}

/// The second execution fails before it sets the first one's summary aside: a folder in place of
/// the run's lock stops it.
TEST_F(SweepHere, ATrialIsJudgedByItsOwnExecution) {
  const auto file = parabola("trials: 1", "touch begun; sleep 600");
  work_.start(sweep(file, {"--set", "recovery.grace_seconds=10"}));
  ASSERT_TRUE(happens_within(60s, [&] { return fs::exists(work_.path() + "/begun"); }));
  work_.signal(SIGTERM);
  work_.wait(60s);
  EXPECT_EQ(result()["trials"][0]["state"], "running");
  const auto lock = dir() + "/trial-00000/.lock";
  fs::remove(lock);
  fs::create_directory(lock);
  work_.run(sweep(file, {"--set", "recovery.grace_seconds=10"}));
  const auto trial = result()["trials"][0];
  EXPECT_EQ(trial["state"], "failed");
  EXPECT_THAT(trial["reason"].get<std::string>(), HasSubstr("/trial-00000/.lock"));
}

/// With ASHA, what waits for its promotion waits for another day. The first trial ends after the
/// moment; a slow machine does not even start it.
TEST_F(SweepHere, AMomentEndsASweepAndALaterOneContinuesIt) {
  const auto until = std::time(nullptr) + 4;
  const auto file = work_.file(
      "until.yaml",
      "name: until\nresources: {ranks_per_node: 1, device: cpu}\n"
      "run: \"until [ $(date +%s) -gt " +
          std::to_string(until) +
          " ]; do sleep 0.1; done; echo acc=$(({x} * EPOCHS))\"\n"
          "environment: {variables: {EPOCHS: '{epochs}'}}\n"
          "sweep: {parameters: {x: {int: [1, 3]}}, sampler: grid, value: 'acc=(.*)', metric: acc,\n"
          "        scheduler: asha, max_epochs: 2}\n");
  char moment[32];
  std::tm utc{};
  gmtime_r(&until, &utc);
  std::strftime(moment, sizeof moment, "%Y-%m-%dT%H:%M:%SZ", &utc);
  const auto ended = work_.run(sweep(file, {"--set", std::string("sweep.until=") + moment}));
  EXPECT_THAT(ended.err, HasSubstr("sweep.until has come: no further trial starts"));
  const auto before = result()["trials"];
  EXPECT_LE(before.size(), 1U);
  for (const auto& trial : before)
    EXPECT_EQ(trial["state"], trial["epochs"] == 1 ? "paused" : "running");
  const auto more = work_.run(sweep(file, {"--set", "sweep.until=2999-01-01"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  const auto after = result();
  ASSERT_EQ(after["trials"].size(), 3U);
  EXPECT_EQ(after["best"]["value"], 6);
  for (const auto& trial : after["trials"]) EXPECT_NE(trial["state"], "paused");
}

TEST_F(SweepHere, FailingTrialsAreResultsAndNothingIsLost) {
  const auto file = work_.file(
      "odd.yaml",
      "name: '<b>odd</b>'\nresources: {ranks_per_node: 1, device: cpu, time: 1}\n"
      "recovery: {grace_seconds: 10}\n"
      "run: \"case {kind} in bad) echo 'ValueError: <script>' >&2; exit 3;; nan) echo acc=nan;; "
      "none) true;; hang) sleep 600;; esac; test {kind} = good && echo acc=0.5 || true\"\n"
      "sweep: {parameters: {kind: {choice: [good, bad, nan, none, hang]}}, sampler: grid,\n"
      "        value: 'acc=(.*)', metric: acc, trials: 4}\n");
  const auto ended = work_.run(sweep(file, {"--json"}));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = Json::parse(ended.out);
  EXPECT_EQ(json["best"]["number"], 0);
  EXPECT_EQ(json["trials"][0]["state"], "completed");
  for (const std::size_t i : {1, 2, 3}) {
    EXPECT_EQ(json["trials"][i]["state"], "failed");
    EXPECT_FALSE(json["trials"][i]["reason"].get<std::string>().empty());
  }
  EXPECT_THAT(json["trials"][1]["reason"].get<std::string>(), HasSubstr("ValueError: <script>"));
  EXPECT_EQ(json["trials"][2]["reason"], "it has no number of acc");
  EXPECT_EQ(work_.text_of("sweep/sweep.html").find("<script"), std::string::npos);
}

/// Two seconds each time, whatever of the trial has started by then.
TEST_F(SweepHere, ATrialThatHangsIsStartedOnceMoreAndFails) {
  const auto file = work_.file(
      "hang.yaml",
      "name: hang\nresources: {ranks_per_node: 1, device: cpu, time: '0:02'}\n"
      "recovery: {grace_seconds: 10}\n"
      "run: \"echo {x} >> started; sleep 600\"\n"
      "sweep: {parameters: {x: {choice: [1, 2]}}, sampler: grid, value: 'acc=(.*)', metric: acc, "
      "concurrent: 2}\n");
  const auto ended = work_.run(sweep(file, {"--json"}));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  for (const auto& trial : Json::parse(ended.out)["trials"]) {
    EXPECT_EQ(trial["state"], "failed");
    EXPECT_EQ(trial["reason"], "it took longer than resources.time; started 2 times in vain");
  }
  EXPECT_LE(work_.text_of("started").size(), 8U) << work_.text_of("started");
  EXPECT_TRUE(all_end(dir() + "/trial-00000"));
}

/// Whatever is killed: every trial is there once, with its own value, and Optuna reads the journal.
TEST_F(SweepHere, KillsLoseNoTrialAndRepeatNone) {
  const int kills = full_tier() ? 200 : 10;
  if (python().empty()) std::printf("skipped: Optuna is not installed\n");
  // What an attempt prints that is killed afterwards does not count.
  const auto file = parabola("concurrent: 2", "echo acc=0; sleep 0.3");
  std::mt19937 random(20261126);
  int trials = 4;
  int killed = 0;
  std::map<std::string, int> times;
  for (int round = 0; killed < kills; ++round) {
    ASSERT_LT(round, 20 * kills);
    work_.start(sweep(file, {"--set", "sweep.trials=" + std::to_string(trials)}));
    while (work_.running() && killed < kills) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 900));
      auto trials_now = trials_of(dir());
      const auto killed_often = [&](const RunningTrial& one) { return times[one.name] == 8; };
      // A trial whose start was killed ten times has failed. The driver takes its trials along.
      const bool driver = random() % 2 == 0;
      if (driver && std::ranges::any_of(trials_now, killed_often)) continue;
      std::erase_if(trials_now, killed_often);
      if (!work_.running() || (!driver && trials_now.empty())) continue;
      if (!driver) trials_now = {trials_now[random() % trials_now.size()]};
      ++killed;
      for (const auto& one : trials_now) ++times[one.name];
      kill(driver ? work_.pid() : trials_now[0].dllaunch, SIGKILL);
      if (!python().empty() && killed % 10 == 0) {
        EXPECT_FALSE(read_by_optuna("parabola").empty());
      }
    }
    if (!work_.running()) work_.wait();
    if (killed < kills && fs::exists(dir() + "/sweep.json") &&
        result()["trials"].size() == static_cast<std::size_t>(trials))
      trials += 2;
  }
  work_.wait(120s);
  const auto ended = work_.run(sweep(file, {"--set", "sweep.trials=" + std::to_string(trials)}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto json = result();
  ASSERT_EQ(json["trials"].size(), static_cast<std::size_t>(trials));
  for (std::size_t i = 0; i < json["trials"].size(); ++i) {
    const auto& trial = json["trials"][i];
    EXPECT_EQ(trial["number"], i);
    ASSERT_EQ(trial["state"], "completed") << trial.dump();
    const double x = trial["parameters"]["x"];
    EXPECT_NEAR(trial["value"], 1 - (x - 0.3) * (x - 0.3), 1e-4);
  }
  if (python().empty()) return;
  const auto seen = read_by_optuna("parabola");
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(trials));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i][0], i);
    EXPECT_EQ(seen[i][1], "COMPLETE");
  }
}

TEST_F(SweepHere, OptunasSamplersAskAndItsDashboardsFileIsOurs) {
  if (python().empty())
    GTEST_SKIP() << "no Optuna: scripts/framework-venvs build/frameworks optuna";
  work_.environment = {{"PATH", fs::path(python()).parent_path().string() + ":/usr/bin:/bin"}};
  const auto file = parabola("sampler: {optuna: TPESampler}, trials: 5");
  const auto ended = work_.run(sweep(file));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  const auto seen = read_by_optuna("parabola");
  ASSERT_EQ(seen.size(), 5U);
  std::set<double> values;
  for (const auto& trial : seen) {
    EXPECT_EQ(trial[1], "COMPLETE");
    values.insert(trial[2]["x"].get<double>());
  }
  EXPECT_EQ(values.size(), 5U) << "no two trials alike";

  const auto odd = work_.run({"sweep", parabola("sampler: {optuna: NoSampler}"), "--local"});
  EXPECT_EQ(odd.exit_code, 3);
  EXPECT_THAT(odd.err, HasSubstr("Optuna 5"));
  EXPECT_THAT(odd.err, HasSubstr("has no such sampler"));
}

/// A sampler that answers its second question only once the driver has written down how the first
/// trial ended.
TEST_F(SweepHere, WhileASamplerThinksTrialsAreWatched) {
  fs::create_directories(work_.path() + "/bin");
  const auto python = work_.file("bin/python3", R"(#!/bin/sh
journal="$4"
[ -n "$journal" ] || exit 0
if grep -q '"op_code":4' "$journal"; then
  for i in $(seq 600); do
    grep -q '"state": "completed"' sweep/sweep.json && break
    sleep 0.1
  done
  grep -q '"state": "completed"' sweep/sweep.json || { echo the driver waits for me; exit 1; }
fi
range='{"step": null, "low": 0, "high": 1, "log": false}'
range=$(echo '{"name": "FloatDistribution", "attributes": '"$range"'}' | sed 's/"/\\"/g')
range='"distributions":{"x":"'"$range"'"}'
echo '{"op_code":4,"study_id":0,"params":{"x":0.5},'"$range"'}' >> "$journal"
)");
  fs::permissions(python, fs::perms::owner_all);
  work_.environment = {{"PATH", work_.path() + "/bin:/usr/bin:/bin"}};
  const auto ended =
      work_.run(sweep(parabola("sampler: {optuna: TPESampler}, trials: 2, concurrent: 2")));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  ASSERT_EQ(result()["trials"].size(), 2U);
  for (const auto& trial : result()["trials"]) EXPECT_EQ(trial["parameters"]["x"], 0.5);
}

/// The next driver would wait 30 s for it.
TEST_F(SweepHere, ASamplerThatIsKilledLeavesNoLock) {
  fs::create_directories(work_.path() + "/bin");
  const auto python = work_.file("bin/python3", R"(#!/bin/sh
[ -n "$4" ] || exit 0
ln -s "$4" "$4.lock"
touch asked
sleep 600
)");
  fs::permissions(python, fs::perms::owner_all);
  work_.environment = {{"PATH", work_.path() + "/bin:/usr/bin:/bin"}};
  work_.start(sweep(parabola("sampler: {optuna: TPESampler}, trials: 2")));
  ASSERT_TRUE(happens_within(60s, [&] { return fs::exists(work_.path() + "/asked"); }));
  // Two that come at the same moment count as one.
  EXPECT_TRUE(happens_within(60s, [&] {
    if (work_.running()) work_.signal(SIGINT);
    return !work_.running();
  }));
  EXPECT_EQ(work_.wait().exit_code, 130);
  EXPECT_FALSE(fs::is_symlink(dir() + "/optuna.journal.lock"));
}

/// What another sweep, a copy, a link or a lost file leaves in a sweep's directory.
class SweepBeside : public SweepHere {
 protected:
  SweepBeside() { set_choices("6, 7"); }
  /// `printed`: a text of the command; `variable`: of its only variable.
  void set_choices(const std::string& choices, const std::string& printed = "{x}",
                   const std::string& variable = "") {
    file_ = work_.file(
        "toy.yaml",
        "name: toy\nresources: {ranks_per_node: 1, device: cpu}\nrun: \"touch begun; echo acc=" +
            printed + "\"\nenvironment: {variables: {OF: '" + variable +
            "'}}\nsweep: {parameters: {x: {choice: [" + choices +
            "]}}, sampler: grid, value: 'acc=([0-9]+)', metric: acc}\n");
  }
  Ended run() {
    fs::remove(work_.path() + "/begun");
    return work_.run(sweep(file_));
  }
  bool any_began() const { return fs::exists(work_.path() + "/begun"); }
  std::string text_of(const char* file) { return work_.text_of("sweep/" + std::string(file)); }
  /// A journal of this sweep's name whose trials are to run.
  void forget_ends() {
    const auto text = text_of("optuna.journal");
    std::string kept;
    for (const auto line : split_lines(text)) {
      const Json record = Json::parse(line);
      const int operation = record["op_code"];
      if (operation == 0 || operation == 4) kept += std::string(line) + "\n";
    }
    std::ofstream(dir() + "/optuna.journal") << kept;
  }
  std::string file_;
};

TEST_F(SweepBeside, TrialsWithoutAJournalAreRefused) {
  ASSERT_EQ(run().exit_code, 0);
  for (const bool empty : {false, true}) {
    for (const char* file : {"optuna.journal", "sweep.json"}) {
      fs::remove(dir() + "/" + file);
      if (empty) std::ofstream(dir() + "/" + file) << "";
    }
    set_choices("60, 70");
    const auto refused = run();
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("has trials, and no optuna.journal that tells their"));
    EXPECT_FALSE(any_began());
  }
}

TEST_F(SweepBeside, AJournalWithoutSweepJsonCountsIfItsRunsAreOfThisJobFile) {
  ASSERT_EQ(run().exit_code, 0);
  const auto before = result();
  for (const char* text : {"", "{\"name\":"}) {
    std::ofstream(dir() + "/sweep.json") << text;
    const auto same = run();
    ASSERT_EQ(same.exit_code, 0) << same.err;
    EXPECT_EQ(result(), before);
    EXPECT_FALSE(any_began());
  }
  fs::remove(dir() + "/sweep.json");
  set_choices("6, 7", "1{x}");
  for (int i = 0; i < 2; ++i) {
    const auto other = run();
    EXPECT_EQ(other.exit_code, 2) << other.err;
    EXPECT_THAT(other.err, HasSubstr("/sweep.json is lost, and trial-00000 has another job's run: "
                                     "other run"));
  }
  set_choices("6, 7");
  fs::remove_all(dir() + "/trial-00000");
  EXPECT_THAT(run().err, HasSubstr("/sweep.json is lost, and trial-00000 has no run"));
}

/// The first sweep's runs lie where the second's trials are to run. What a run's directory lets
/// change between its executions, such as a variable, is another trial all the same.
TEST_F(SweepBeside, ATrialDoesNotTakeTheResultOfAnotherJob) {
  for (const auto& [printed, variable, keys] :
       {std::tuple{"{x}", "", "other run"}, {"6", "{x}", "other environment.variables.OF"}}) {
    set_choices("6, 7", printed, variable);
    ASSERT_EQ(run().exit_code, 0);
    forget_ends();
    fs::rename(dir(), dir() + "-before");
    set_choices("60, 70", printed, variable);
    ASSERT_EQ(run().exit_code, 0);
    forget_ends();
    for (const char* trial : {"/trial-00000", "/trial-00001"}) {
      fs::remove_all(dir() + trial);
      fs::rename(dir() + "-before" + trial, dir() + trial);
    }
    const auto ended = run();
    EXPECT_FALSE(any_began());
    for (const auto& trial : result()["trials"]) {
      EXPECT_EQ(trial["state"], "failed") << ended.err;
      EXPECT_THAT(trial["reason"].get<std::string>(),
                  HasSubstr(std::string(trial["run"]) + " has another job's run: " + keys));
    }
    fs::remove_all(dir());
    fs::remove_all(dir() + "-before");
  }
}

TEST_F(SweepBeside, TwoTrialsInOneFolderHaveOneResult) {
  set_choices("6, 60");
  ASSERT_EQ(run().exit_code, 0);
  forget_ends();
  fs::remove_all(dir() + "/trial-00001");
  fs::create_directory_symlink("trial-00000", dir() + "/trial-00001");
  EXPECT_EQ(run().exit_code, 0);
  const auto trials = result()["trials"];
  EXPECT_EQ(trials[0]["value"], 6);
  EXPECT_EQ(trials[1]["state"], "failed");
  EXPECT_THAT(trials[1]["reason"].get<std::string>(), HasSubstr("has another job's run"));
}

/// Of a training, whose events count also when its run was killed.
TEST_F(SweepBeside, ATrainingOfOtherParametersDoesNotCount) {
  const auto training = [&](const char* rates) {
    file_ = work_.file("train.yaml", std::string(tiny_local_job) +
                                         "sweep: {parameters: {train.optimizer.lr: "
                                         "{choice: [" +
                                         rates + "]}}, sampler: grid}\n");
  };
  training("0.001");
  ASSERT_EQ(run().exit_code, 0);
  fs::rename(dir() + "/trial-00000", work_.path() + "/other");
  fs::remove_all(dir());
  training("0.002");
  ASSERT_EQ(run().exit_code, 0);
  forget_ends();
  fs::remove_all(dir() + "/trial-00000");
  fs::rename(work_.path() + "/other", dir() + "/trial-00000");
  run();
  const auto trial = result()["trials"][0];
  EXPECT_EQ(trial["state"], "failed");
  EXPECT_TRUE(trial["value"].is_null());
  EXPECT_THAT(trial["reason"].get<std::string>(), HasSubstr("other train.optimizer.lr"));
}

/// Emptied, or replaced by an older one.
TEST_F(SweepBeside, AJournalThatIsCutStopsItsSweepAndAJobFileThatChanges) {
  const auto wait = [&](const std::string& then) {
    file_ = work_.file("toy.yaml",
                       "name: toy\nresources: {ranks_per_node: 1, device: cpu}\n"
                       "run: \"touch begun; until [ -e go ]; do sleep 0.1; done; echo acc={x}\"\n"
                       "sweep: {parameters: {x: {choice: [6, 7]}}, sampler: grid,\n"
                       "        value: 'acc=([0-9]+)', metric: acc, concurrent: 1}\n" +
                           then);
  };
  wait("");
  work_.start(sweep(file_));
  ASSERT_TRUE(happens_within(60s, [&] { return any_began(); }));
  const auto journal = text_of("optuna.journal");
  std::ofstream(dir() + "/optuna.journal") << journal.substr(0, journal.find('\n') + 1);
  std::ofstream(work_.path() + "/go") << "";
  const auto cut = work_.wait(60s);
  EXPECT_EQ(cut.exit_code, 3) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("optuna.journal has become shorter: another program changed it"));
  std::ofstream(dir() + "/optuna.journal") << journal;

  fs::remove(work_.path() + "/go");
  fs::remove_all(dir());
  fs::remove(work_.path() + "/begun");
  work_.start(sweep(file_));
  ASSERT_TRUE(happens_within(60s, [&] { return any_began(); }));
  wait("recovery: {max_restarts: 1}\n");
  std::ofstream(work_.path() + "/go") << "";
  const auto changed = work_.wait(60s);
  EXPECT_EQ(changed.exit_code, 2) << changed.err;
  EXPECT_THAT(changed.err, HasSubstr("toy.yaml has changed since its runs began"));
  EXPECT_EQ(result()["trials"][0]["value"], 6) << "of a run that began before";
}

TEST_F(SweepHere, StopsAndContinues) {
  const auto file = parabola("trials: 4, concurrent: 2", "sleep 2");
  work_.start(sweep(file));
  ASSERT_TRUE(happens_within(60s, [&] { return !processes_of(dir() + "/trial-00001").empty(); }));
  work_.signal(SIGINT);
  const auto stopped = work_.wait(60s);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("the same command with --run-dir " + dir() + " continues"));
  EXPECT_TRUE(all_end(dir() + "/trial-00001"));
  EXPECT_EQ(work_.run(sweep(file, {"--set", "sweep.seed=3"})).exit_code, 2) << "another sweep";
  const auto ended = work_.run(sweep(file));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(result()["trials"].size(), 4U);
}

/// examples/experiments, in small, as their comments say.
TEST_F(SweepHere, TheExamplesRunInSmall) {
  const std::string examples = DLLAUNCH_SOURCE_DIR "/examples/experiments/";
  for (const auto& entry : fs::directory_iterator(examples)) {
    const auto checked = work_.run({"validate", entry.path().string()});
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
  }
  if (!full_tier()) GTEST_SKIP() << "trains on CPUs for minutes: scripts/test --full";
  for (const std::string name : {"batch-per-rank", "global-batch"}) {
    work_.start({"sweep", examples + name + ".yaml", "--local", "--run-dir",
                 work_.path() + "/" + name, "--set", "resources.device=cpu", "--set",
                 "train.model=lenet", "--set", "train.dataset.images=512", "--json"});
    const auto ended = work_.wait(200s);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    for (const auto& trial : Json::parse(ended.out)["trials"]) {
      EXPECT_EQ(trial["state"], "completed") << trial.dump();
    }
  }
}

/// A test case each, as each has a limit: on two busy cores ResNet-152 takes minutes.
class StudiedExample : public SweepHere, public testing::WithParamInterface<const char*> {};

TEST_P(StudiedExample, RunsInSmall) {
  if (!full_tier()) GTEST_SKIP() << "trains ResNets on CPUs: scripts/test --full";
  const std::string data = DLLAUNCH_SOURCE_DIR "/../shared/data/cifar-10-batches-bin";
  if (!fs::exists(data)) GTEST_SKIP() << "no CIFAR-10: ../shared/data";
  const std::string name = GetParam();
  work_.start({"study",
               DLLAUNCH_SOURCE_DIR "/examples/experiments/" + name + ".yaml",
               "--ranks",
               "1,2",
               "--local",
               "--run-dir",
               work_.path() + "/" + name,
               "--set",
               "train.dataset.path=" + data,
               "--set",
               "resources.device=cpu",
               "--set",
               "train.batch_size=4",
               "--set",
               "train.max_steps=2",
               "--set",
               "train.validate_every=0",
               "--set",
               "resources.ranks_per_node=2",
               "--json"});
  const auto ended = work_.wait(460s);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(Json::parse(ended.out)["points"].size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(ExamplesRunInSmall, StudiedExample,
                         testing::Values("resnet50v2-cifar10", "resnet152v2-cifar10"));

}  // namespace
}  // namespace dllaunch
