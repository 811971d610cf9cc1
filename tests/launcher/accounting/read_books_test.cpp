#include "launcher/accounting/read_books.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "launcher/accounting/rank_memory.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

/// Ten steps a second apart, a checkpoint at step 6, killed after step 10; back at step 7 five
/// seconds later.
RunTotals interrupted() {
  RunTotals totals;
  totals.take(StartEvent{.time = 100, .fencing_token = 1});
  for (int step = 1; step <= 10; ++step)
    totals.take(StepEvent{.time = 100.0 + step, .step = step, .fencing_token = 1});
  totals.take(RestartEvent{.time = 111, .reason = "rank 1 was killed", .fencing_token = 2});
  totals.take(StartEvent{.time = 113, .fencing_token = 2});
  totals.take(RestartEvent{
      .time = 113, .reason = "resume", .from = "c/step-00000006", .step = 6, .fencing_token = 2});
  for (int step = 7; step <= 12; ++step)
    totals.take(StepEvent{.time = 108.0 + step, .step = step, .fencing_token = 2});
  return totals;
}

TEST(ReadBooks, WhatInterruptionsWastedIsWhatGoodputLost) {
  const auto totals = interrupted();
  // Four steps of a second were lost, and from 110 to 113, where step 7 began, nothing was trained.
  const auto wasted = wasted_seconds(totals.history(), 1);
  EXPECT_EQ(wasted, 4 + 3);
  const double wall = 20;  // from 100 to 120
  EXPECT_NEAR(*totals.goodput(wall), (wall - *wasted) / wall, 1e-9);
}

TEST(ReadBooks, AStartThatReachesNoStepLeavesItUnknown) {
  auto totals = interrupted();
  totals.take(RestartEvent{.time = 121, .reason = "rank 0 was killed", .fencing_token = 3});
  totals.take(StartEvent{.time = 900, .fencing_token = 3});
  EXPECT_EQ(wasted_seconds(totals.history(), 2), std::nullopt);
}

/// The trainer resumes at the beginning of a submission: nothing was interrupted within it.
TEST(ReadBooks, ASubmissionThatContinuesHasWastedNothingBefore) {
  RunTotals totals;
  totals.recall(StartEvent{.time = 100, .fencing_token = 1});
  totals.recall(StepEvent{.time = 101, .step = 1, .fencing_token = 1});
  totals.recall(EndEvent{.time = 102, .status = "completed", .fencing_token = 1});
  totals.take(StartEvent{.time = 900, .fencing_token = 2});
  totals.take(RestartEvent{
      .time = 901, .reason = "resume", .from = "c/step-00000001", .step = 1, .fencing_token = 2});
  totals.take(StepEvent{.time = 902, .step = 2, .fencing_token = 2});
  EXPECT_EQ(totals.restarts(), 1);
  EXPECT_EQ(wasted_seconds(totals.history(), 1), 0);
  totals.take(RestartEvent{.time = 903, .reason = "rank 1 was killed", .fencing_token = 3});
  totals.take(StartEvent{.time = 904, .fencing_token = 3});
  totals.take(RestartEvent{
      .time = 904, .reason = "resume", .from = "c/step-00000001", .step = 1, .fencing_token = 3});
  EXPECT_FALSE(wasted_seconds(totals.history(), 2)) << "no step yet";
  totals.take(StepEvent{.time = 907, .step = 2, .fencing_token = 3});
  EXPECT_GT(wasted_seconds(totals.history(), 2), 0.0);
}

TEST(ReadBooks, OfACommandNothingIsKnownOfItsRestarts) {
  EXPECT_EQ(wasted_seconds(History(), 0), 0);
  EXPECT_FALSE(wasted_seconds(History(), 2));
}

TEST(ReadBooks, ReadTheRunsFiles) {
  const TemporaryFolder folder;
  const RunDir dir{.path = folder.path()};
  std::ofstream(dir.plan_json()) << "{}";
  append_memory(dir.path, {{.time = unix_seconds() + 1, .rank = 1, .host = "n", .peak_bytes = 9}});
  RunOutline plan;
  plan.occupies = {.cores = 4, .gpus = 0};
  FakeSystem system;
  const auto books = read_books(system, plan, dir, {.seconds = 900}, {}, History());
  EXPECT_EQ(books.core_hours, 1);
  EXPECT_EQ(books.gpu_hours, 0);
  EXPECT_EQ(books.peak_memory_bytes, 9);
  EXPECT_FALSE(books.energy_joules);
  EXPECT_EQ(books.wasted.core_hours, 0);
}

TEST(ReadBooks, NodesAreThoseThatTheRunHeld) {
  const TemporaryFolder folder;
  const RunDir dir{.path = folder.path()};
  std::ofstream(dir.path + "/supervisor.jsonl")
      << R"({"time":100,"event":"attempt","job":"7","allocation":0,"nodes":2,"held":2}
{"time":200,"event":"attempt","job":"7","allocation":0,"nodes":1,"held":1}
{"time":300,"event":"ended","job":"7","allocation":0,"cause":"requeued"}
)";
  RunOutline plan;
  plan.nodes = 2;
  plan.recovery.spare_nodes = 1;
  EXPECT_EQ(nodes_held(plan, dir, 200), 3) << "spare ones are charged too";
  plan.recovery = {.min_nodes = 1};
  EXPECT_EQ(nodes_held(plan, dir, 200), 1.5);
}

TEST(ReadBooks, OfAnArrayAreThoseOfAllTasks) {
  const TemporaryFolder folder;
  RunOutline plan;
  plan.launcher = Launcher::slurm;
  plan.array = "0-9";
  plan.occupies = {.cores = 2, .gpus = {}};
  FakeSystem system;
  EXPECT_FALSE(
      read_books(system, plan, {.path = folder.path()}, {.seconds = 10}, {}, History()).core_hours);
  const auto books = read_books(system, plan, {.path = folder.path()},
                                {.seconds = 10, .task_seconds = 7200}, {}, History());
  EXPECT_EQ(books.core_hours, 4);
  EXPECT_FALSE(books.wasted.seconds) << "restarts of tasks are not counted";
  EXPECT_FALSE(books.gpu_hours);
}

}  // namespace
}  // namespace dllaunch
