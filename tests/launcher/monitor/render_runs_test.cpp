#include <gtest/gtest.h>

#include "launcher/monitor/run_state.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

RunState view_of(const std::string& folder, const std::string& state) {
  RunState run_state{.run = {.dir = {.path = "/r/" + folder}, .plan = {}, .summary = {}},
                     .state = state};
  run_state.run.plan.name = "x";
  run_state.run.plan.launcher = Launcher::slurm;
  run_state.run.plan.nodes = 2;
  run_state.run.plan.ranks_per_node = 4;
  run_state.run.job_id = "12";
  return run_state;
}

std::vector<RunState> three() {
  auto running = view_of("cnn-20261121-101500-aaaa", "running");
  running.seconds = 3725;
  running.where = "n[1-2]";
  running.run.epochs = 10;
  running.progress = {.epoch = 3, .step = 450, .val_accuracy = 0.912};
  auto pending = view_of("größer", "pending");
  pending.jobs = {{"12", "PENDING", "2026-11-21T12:00:00", "0:00", "", "Priority"}};
  auto ended = view_of("short", "completed");
  ended.run.job_id.clear();
  ended.seconds = 5;
  ended.where = "login-1";
  ended.progress.last_line = "a last line that is much too long for a narrow terminal, and goes on";
  return {running, pending, ended};
}

TEST(RenderRuns, ATableForPeople) {
  EXPECT_EQ(render_runs(three(), 1000),
            "RUN                       JOB  STATE      TIME     NODESxRANKS  WHERE    "
            "PROGRESS\n"
            "cnn-20261121-101500-aaaa  12   running    1:02:05  2x4          n[1-2]   "
            "epoch 3/10 step 450 val_accuracy 0.9120\n"
            "größer                    12   pending    -        2x4          -        "
            "jobs with higher priority are ahead (Priority), expected to start "
            "2026-11-21T12:00:00\n"
            "short                     -    completed  0:05     2x4          login-1  "
            "a last line that is much too long for a narrow terminal, and goes on\n");
}

TEST(RenderRuns, OnANarrowTerminalTheProgressIsCut) {
  const auto text = render_runs(three(), 95);
  EXPECT_NE(text.find("epoch 3/10 step 450..."), std::string::npos) << text;
  EXPECT_NE(text.find("cnn-20261121-101500-aaaa"), std::string::npos);
}

TEST(RenderRuns, WhatARunningRunWaitsForReplacesItsProgress) {
  auto runs = three();
  runs[0].waits = "waits since 12:03:04: node n2 does not answer";
  EXPECT_NE(render_runs(runs, 1000).find("n[1-2]   waits since 12:03:04: node n2"),
            std::string::npos);
  EXPECT_EQ(to_json(runs[0])["waits"], runs[0].waits);
  EXPECT_TRUE(to_json(runs[1])["waits"].is_null());
}

TEST(RenderRuns, JsonForPrograms) {
  const auto document = to_json(three()[1]);
  EXPECT_EQ(document["state"], "pending");
  EXPECT_EQ(document["job"], "12");
  EXPECT_EQ(document["ranks"], 8);
  EXPECT_TRUE(document["epoch"].is_null());
  EXPECT_EQ(document["jobs"][0]["expected_start"], "2026-11-21T12:00:00");
  EXPECT_EQ(document["jobs"][0]["reason"], "Priority");
}

}  // namespace
}  // namespace dllaunch
