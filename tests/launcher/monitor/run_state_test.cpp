#include "launcher/monitor/run_state.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "launcher/run/events.hpp"
#include "support/json.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

class RunStateTest : public testing::Test {
 protected:
  RunState run_state(const RunToStore& run, const Queue& queue) {
    auto stored = read_stored_run(place_.system, place_.store(run));
    EXPECT_TRUE(stored);
    return run_state_of(*std::move(stored), queue, 1e10);
  }

  static Queue queue(const std::string& text) {
    return {.answered = true, .jobs = parse_queue(text)};
  }

  RunPlace place_;
};

TEST_F(RunStateTest, TheQueueSaysWhatASlurmRunDoes) {
  const auto state = [&](const std::string& text) {
    return run_state({.folder = "r", .job_id = "7"}, queue(text)).state;
  };
  EXPECT_EQ(state("7|PENDING|N/A|0:00||Priority\n"), "pending");
  EXPECT_EQ(state("7|CONFIGURING|N/A|0:01|n1|None\n"), "pending");
  EXPECT_EQ(state("7|RUNNING|N/A|0:05|n[1-2]|None\n"), "running");
  EXPECT_EQ(state("7|SUSPENDED|N/A|0:05|n[1-2]|None\n"), "suspended");
  EXPECT_EQ(state("7|COMPLETING|N/A|0:05|n[1-2]|None\n"), "completing");
  EXPECT_EQ(state("77|RUNNING|N/A|0:05|n[1-2]|None\n"), "ended");
  EXPECT_EQ(run_state({.folder = "r", .job_id = "7"}, {}).state, "unknown");
  EXPECT_EQ(run_state({.folder = "s", .job_id = "8", .status = "timeout"}, queue("")).state,
            "timeout");
}

/// Slurm may wait for a node that lost its power for minutes; `run` does not.
TEST_F(RunStateTest, WhatRunHasLeftIsOverAlthoughItsJobIsCompleting) {
  const auto path = place_.store({.folder = "r", .job_id = "7"});
  const auto state = [&] {
    return run_state_of(*read_stored_run(place_.system, path),
                        queue("7|COMPLETING|N/A|0:05|n2|None\n"), 1e10)
        .state;
  };
  const auto summary = path + "/summary.json";
  std::ofstream(summary) << R"({"status": "completed", "submission": "job 7"})";
  EXPECT_EQ(state(), "completed");
  std::ofstream(summary) << R"({"status": "completed", "submission": "job 6"})";
  EXPECT_EQ(state(), "completing") << "of the job before";
}

TEST_F(RunStateTest, ARunHasATimeFromItsStart) {
  const auto seconds = [&](const std::string& text) {
    return run_state({.folder = "r", .job_id = "7"}, queue(text)).seconds;
  };
  EXPECT_EQ(seconds("7|PENDING|N/A|0:00||Priority\n"), std::nullopt);
  EXPECT_EQ(seconds("7|RUNNING|N/A|0:00|n1|None\n"), 0);
  EXPECT_EQ(seconds("7|RUNNING|N/A|0:05|n1|None\n"), 5);
}

TEST_F(RunStateTest, AnElasticRunHasTheNodesThatThereAre) {
  const auto path = place_.store({.folder = "r", .job_id = "7", .elastic = true});
  const auto seen = [&] {
    return run_state_of(*read_stored_run(place_.system, path),
                        queue("7|RUNNING|N/A|0:05|n1|None\n"), 1e10);
  };
  EXPECT_NE(render_runs({seen()}, 1000).find(" 2x2 "), std::string::npos);
  EXPECT_FALSE(to_json(seen()).contains("ranks_now"));
  for (const char* nodes : {"2", "1"})
    place_.append(path, "supervisor.jsonl",
                  std::string(R"({"time":1,"event":"attempt","job":"7","allocation":0,"nodes":)") +
                      nodes + ",\"held\":2}\n");
  EXPECT_NE(render_runs({seen()}, 1000).find(" 1x2 "), std::string::npos);
  EXPECT_EQ(to_json(seen())["ranks"], 4) << "as planned";
  EXPECT_EQ(to_json(seen())["ranks_now"], 2);
  EXPECT_EQ(to_json(seen())["nodes_now"], 1);
}

TEST_F(RunStateTest, AnArrayIsAllItsTasks) {
  const auto seen = run_state({.folder = "r", .job_id = "74"},
                              queue("74_[2-3%2]|PENDING|N/A|0:00||JobArrayTaskLimit\n"
                                    "74_0|RUNNING|N/A|0:05|n1|None\n"
                                    "74_1|RUNNING|N/A|1:05|n2|None\n"));
  EXPECT_EQ(seen.state, "running");
  EXPECT_EQ(seen.jobs.size(), 3u);
  EXPECT_EQ(seen.where, "n[1-2]");
  EXPECT_EQ(seen.seconds, 65);
}

TEST_F(RunStateTest, MaxStepsIsTheTotal) {
  const auto path = place_.store({.folder = "r", .status = "completed"});
  place_.append(path, "train.json", R"({"epochs": 3, "max_steps": 200})");
  place_.append(path, "events.jsonl",
                R"({"time":9e9,"event":"step","epoch":1,"step":200})"
                "\n");
  const auto seen = run_state_of(*read_stored_run(place_.system, path), {}, 1e10);
  EXPECT_EQ(progress_words(seen), "epoch 1 step 200/200");
  EXPECT_EQ(to_json(seen)["max_steps"], 200);
}

TEST_F(RunStateTest, AnEndedRunIsWhereItsRanksWere) {
  const RunToStore slurm{.folder = "r", .job_id = "7", .status = "completed"};
  const auto path = place_.store(slurm);
  EXPECT_EQ(run_state(slurm, queue("")).where, "");
  for (const char* name : {"rank-0000-n1", "rank-0001-n1", "rank-0002-n2", "rank-0003-n2"})
    place_.append(path, std::string("out/") + name + ".log", "");
  EXPECT_EQ(run_state(slurm, queue("")).where, "n[1-2]");
  // A job that waits again has no nodes.
  EXPECT_EQ(run_state(slurm, queue("7|PENDING|N/A|0:00||Priority\n")).where, "");
  const RunToStore local{.folder = "s", .status = "failed"};
  place_.append(place_.store(local), "out/rank-0000-login.log", "");
  EXPECT_EQ(run_state(local, {}).where, "login");
}

TEST_F(RunStateTest, TheLockSaysWhatALocalRunDoes) {
  const RunToStore run{.folder = "r"};
  EXPECT_EQ(run_state(run, {}).state, "died");
  const auto lock = RunLock::take({.path = place_.path_of("r")});
  ASSERT_TRUE(lock);
  const auto seen = run_state(run, {});
  EXPECT_EQ(seen.state, "running");
  ASSERT_TRUE(seen.owner);
  EXPECT_EQ(seen.owner->pid, getpid());
  EXPECT_EQ(seen.where, seen.owner->host);
  EXPECT_EQ(run_state({.folder = "s", .status = "completed"}, {}).state, "completed");
}

TEST_F(RunStateTest, ProgressIsTheLastEventOrTheLastLine) {
  const auto path = place_.store({.folder = "r", .status = "completed", .trains = true});
  place_.append(path, "out/rank-0001-vm.log", "first\n\r 10%\r 20%\n  \n");
  const auto read = [&] {
    auto run = read_stored_run(place_.system, path);
    EXPECT_TRUE(run);
    return run_state_of(*std::move(run), {}, 1e10);
  };
  EXPECT_EQ(progress_words(read()), " 20%");
  place_.append(path, "events.jsonl",
                R"({"time":5,"event":"step","epoch":9,"step":900})"
                "\n"
                R"({"time":9e9,"event":"epoch","epoch":1,"val_accuracy":0.5})"
                "\n"
                R"({"time":9e9,"event":"step","epoch":2,"step":12,"loss":0.25})"
                "\n{\"time\":9e9,\"ev");
  EXPECT_EQ(progress_words(read()), "epoch 2/3 step 12 val_accuracy 0.5000");
}

TEST_F(RunStateTest, ATrainingThatARankHoldsUpIsStalledUntilItGoesOn) {
  setenv("TZ", "UTC", 1);
  tzset();
  RunProgress progress{.epoch = 2, .step = 12};
  const auto words = [&](const char* state = "running") {
    return progress_words({.run = {}, .state = state, .progress = progress});
  };
  take_event(StallEvent{.time = 100, .state = "late", .late_ranks = {1}, .seconds = 4.2}, progress);
  EXPECT_EQ(words(), "stalled: rank 1 late since 00:01:35; epoch 2 step 12");
  EXPECT_EQ(words("failed"), "epoch 2 step 12");
  take_event(StallEvent{.time = 160, .state = "late", .late_ranks = {1, 3}, .seconds = 64},
             progress);
  EXPECT_EQ(words(), "stalled: ranks 1,3 late since 00:01:36; epoch 2 step 12");
  take_event(StallEvent{.time = 200, .state = "over", .late_ranks = {1}}, progress);
  EXPECT_EQ(words(), "epoch 2 step 12");
  take_event(StallEvent{.time = 100, .late_ranks = {}, .seconds = 4}, progress);
  EXPECT_EQ(words(), "stalled: since 00:01:36; epoch 2 step 12");
  take_event(StepEvent{.time = 201, .epoch = 2, .step = 13}, progress);
  EXPECT_EQ(words(), "epoch 2 step 13");
}

}  // namespace
}  // namespace dllaunch
