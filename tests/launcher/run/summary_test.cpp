#include "launcher/run/summary.hpp"

#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

RunTotals two_epochs() {
  RunTotals totals;
  totals.take(StartEvent{.time = 100, .model = "cnn"});
  totals.take(StepEvent{.time = 104, .epoch = 1, .step = 1, .images_per_s = 10});
  totals.take(StepEvent{.time = 108, .epoch = 1, .step = 2, .images_per_s = 30});
  totals.take(EpochEvent{.time = 110, .epoch = 1, .val_accuracy = 0.5, .images_per_s = 20});
  totals.take(CheckpointEvent{.time = 111, .path = "c", .epoch = 1, .step = 2});
  totals.take(StepEvent{.time = 115, .epoch = 2, .step = 3, .images_per_s = 60});
  totals.take(EpochEvent{.time = 116, .epoch = 2, .val_accuracy = 0.75, .images_per_s = 60});
  totals.take(EndEvent{.time = 117, .status = "completed", .seconds = 17});
  return totals;
}

TEST(Summary, AddsUpARun) {
  const auto totals = two_epochs();
  EXPECT_EQ(totals.epochs(), 2);
  EXPECT_EQ(totals.val_accuracy(), 0.75);
  // Start to step, step to step, checkpoint to step: 4 + 4 + 4.
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 12);
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 60);  // of the second epoch
  EXPECT_TRUE(totals.first_epoch_excluded());
  EXPECT_EQ(totals.end_status(), "completed");
}

TEST(Summary, OfFewerRanksThanPlannedSaysSo) {
  auto summary = summarize(two_epochs(), RunStatus::completed, 20, 3);
  EXPECT_FALSE(to_json(summary).contains("planned_ranks"));
  summary.planned_ranks = 4;
  EXPECT_EQ(to_json(summary)["planned_ranks"], 4);
  EXPECT_EQ(render_summary(summary, {}).substr(0, 24), "completed: 3 of 4 ranks,");
}

/// Written while training goes on: told late, and only what it stopped is lost.
TEST(Summary, ACheckpointCostsWhatItBlocked) {
  RunTotals totals;
  const auto saved = [](double time) {
    return CheckpointEvent{.time = time, .path = "c", .seconds_blocked = 0.5, .seconds_total = 3};
  };
  totals.take(StartEvent{.time = 100});
  totals.take(StepEvent{.time = 104});
  totals.take(EpochEvent{.time = 110});
  totals.take(StepEvent{.time = 112});
  totals.take(saved(113));
  totals.take(StepEvent{.time = 114});
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 4 + 2 + 2 - 0.5);
  totals.take(CheckpointFailedEvent{.time = 114.5, .step = 3, .why = "disk full"});
  totals.take(StepEvent{.time = 115});
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 8.5);
  // It may have stopped more than the step after which it is told.
  totals.take(CheckpointEvent{.time = 115, .path = "c", .seconds_blocked = 1.5});
  totals.take(StepEvent{.time = 116});
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 8.5);
  totals.take(StepEvent{.time = 117});
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 9);
  // The last one of a process stops no step; the next process owes nothing for it.
  totals.take(saved(118));
  totals.take(StartEvent{.time = 120});
  totals.take(StepEvent{.time = 121});
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 10);
}

TEST(Summary, TheFirstEpochAfterEachStartCountsOnlyWhereThereAreNoOthers) {
  RunTotals totals;
  const auto epoch = [&](double images_per_s, std::optional<double> images) {
    totals.take(EpochEvent{.time = 1, .images_per_s = images_per_s, .images = images});
  };
  totals.take(StartEvent{.time = 1});
  epoch(10, 100);
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 10);
  EXPECT_FALSE(totals.first_epoch_excluded());
  totals.take(StartEvent{.time = 2});  // restarted
  epoch(30, 300);
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 20);  // 400 images in 10 s + 10 s
  EXPECT_FALSE(totals.first_epoch_excluded());
  epoch(50, 100);
  epoch(0, 0);  // says nothing
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 50);
  EXPECT_TRUE(totals.first_epoch_excluded());
  epoch(100, 400);  // 500 images in 2 s + 4 s
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 500 / 6.0);
}

/// A resume that finds an epoch done ends it without an image of its own.
TEST(Summary, AnEpochWithoutImagesIsNotTheFirst) {
  RunTotals totals;
  totals.take(StartEvent{.time = 1});
  totals.take(EpochEvent{.time = 1, .images_per_s = 0, .images = 0});
  totals.take(EpochEvent{.time = 2, .images_per_s = 10, .images = 100});
  EXPECT_FALSE(totals.first_epoch_excluded());
  totals.take(EpochEvent{.time = 3, .images_per_s = 50, .images = 100});
  EXPECT_TRUE(totals.first_epoch_excluded());
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 50);
}

TEST(Summary, EpochsThatDoNotSayTheirImagesHaveTheSame) {
  RunTotals totals;
  for (const double images_per_s : {1.0, 20.0, 60.0}) {
    totals.take(EpochEvent{.time = 1, .images_per_s = images_per_s});
  }
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 30);
}

TEST(Summary, WithoutAWholeEpochTheStepsCount) {
  RunTotals totals;
  EXPECT_FALSE(totals.images_per_s());
  totals.take(StartEvent{.time = 100});
  totals.take(StepEvent{.time = 101, .epoch = 1, .step = 1, .images_per_s = 10});
  totals.take(StepEvent{.time = 104, .epoch = 1, .step = 2, .images_per_s = 30});
  EXPECT_DOUBLE_EQ(totals.images_per_s().value(), 25);
}

TEST(Summary, AnEarlierRunsTimesDoNotCount) {
  RunTotals totals;
  totals.recall(StepEvent{.time = 1, .epoch = 1, .step = 1, .images_per_s = 10});
  totals.recall(EpochEvent{.time = 2, .epoch = 1, .val_accuracy = 0.5, .images_per_s = 20});
  totals.recall(EndEvent{.time = 3, .status = "cancelled"});
  EXPECT_EQ(totals.epochs(), 1);
  EXPECT_FALSE(totals.ended());
  EXPECT_FALSE(totals.images_per_s());
}

TEST(Summary, JsonHasTheContractsKeysAndWhatImagesPerSCovers) {
  const auto summary = summarize(two_epochs(), RunStatus::completed, 24, 2);
  EXPECT_EQ(summary.goodput, 0.5);
  const auto json = to_json(summary);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "status", "seconds", "queue_seconds", "ranks", "epochs", "images_per_s",
                      "val_accuracy", "restarts", "goodput", "first_epoch_excluded", "core_hours",
                      "gpu_hours", "peak_memory_bytes", "peak_memory_source", "peak_memory_by_rank",
                      "energy_joules", "energy_source", "energy_seconds", "wasted"}));
  EXPECT_EQ(json["first_epoch_excluded"], true);
  EXPECT_FALSE(to_json(Summary()).contains("first_epoch_excluded"));  // no throughput
  EXPECT_TRUE(json["queue_seconds"].is_null());
  EXPECT_EQ(json["status"], "completed");
}

TEST(Summary, WhereTokensArePredictedItTellsTheirRateAndThePerplexity) {
  RunTotals totals;
  totals.take(StartEvent{.time = 1});
  totals.take(StepEvent{.time = 3, .epoch = 1, .step = 1, .images_per_s = 5, .tokens_per_s = 80});
  EXPECT_DOUBLE_EQ(totals.tokens_per_s().value(), 80);
  totals.take(EpochEvent{.time = 4,
                         .epoch = 1,
                         .images_per_s = 10,
                         .tokens_per_s = 160,
                         .val_perplexity = 12.5,
                         .images = 40});
  auto summary = summarize(totals, RunStatus::completed, 5, 2);
  summary.epochs = 1;
  const auto json = to_json(summary);
  EXPECT_EQ(json.at("tokens_per_s").get<double>(), 160);
  EXPECT_EQ(json.at("val_perplexity").get<double>(), 12.5);
  EXPECT_TRUE(render_summary(summary, {"/runs/a", "", ""})
                  .starts_with("completed: 2 ranks, 1 epoch, 5.0 s, val_perplexity 12.5, "
                               "160 tokens/s (first epoch included)"));
}

/// Epoch 2 ends at step 20; the second incarnation goes on from step 12.
RunTotals restarted() {
  RunTotals totals;
  totals.take(StartEvent{.time = 100, .fencing_token = 1});
  totals.take(StepEvent{.time = 110, .epoch = 1, .step = 10, .fencing_token = 1});
  totals.take(
      EpochEvent{.time = 111, .epoch = 1, .val_accuracy = 0.5, .step = 10, .fencing_token = 1});
  totals.take(StepEvent{.time = 121, .epoch = 2, .step = 20, .fencing_token = 1});
  totals.take(
      EpochEvent{.time = 122, .epoch = 2, .val_accuracy = 0.75, .step = 20, .fencing_token = 1});
  totals.take(RestartEvent{.time = 130, .reason = "rank 1 was killed", .fencing_token = 2});
  totals.take(StartEvent{.time = 131, .fencing_token = 2});
  totals.take(RestartEvent{.time = 131,
                           .reason = "resume",
                           .from = "/runs/a/checkpoints/step-00000012",
                           .step = 12,
                           .fencing_token = 2});
  return totals;
}

TEST(Summary, WhatARestartLostCountsNeitherAsWorkNorAsEpochs) {
  auto totals = restarted();
  EXPECT_EQ(totals.epochs(), 1);
  EXPECT_EQ(totals.val_accuracy(), 0.5);
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 10 + 2);
  EXPECT_FALSE(totals.take(EpochEvent{.time = 132, .epoch = 3, .step = 30, .fencing_token = 1}));
  EXPECT_EQ(totals.epochs(), 1) << "an orphan's";
  totals.take(StepEvent{.time = 139, .epoch = 2, .step = 20, .fencing_token = 2});
  totals.take(
      EpochEvent{.time = 140, .epoch = 2, .val_accuracy = 0.7, .step = 20, .fencing_token = 2});
  EXPECT_EQ(totals.epochs(), 2);
  EXPECT_EQ(totals.val_accuracy(), 0.7);
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 10 + 2 + 8);
  EXPECT_EQ(totals.goodput(50), 0.4);
  EXPECT_EQ(totals.goodput(20), 0.5) << "the events span 40 s";
  EXPECT_FALSE(RunTotals().goodput(20));
}

TEST(Summary, GoodputDoesNotCountPauses) {
  RunTotals totals;
  totals.take(StartEvent{.time = 100});
  totals.take(StepEvent{.time = 110, .epoch = 1, .step = 10, .images_per_s = 64});
  totals.take(PauseEvent{.time = 1020, .seconds = 900});
  totals.take(StepEvent{.time = 1020, .epoch = 1, .step = 20, .images_per_s = 64});
  const auto summary = summarize(totals, RunStatus::completed, /*seconds=*/925, /*ranks=*/2);
  EXPECT_EQ(summary.goodput, 0.8);
  EXPECT_EQ(summary.images_per_s, 64);
}

/// The second incarnation's node has a clock that is 20 years ahead.
TEST(Summary, GoodputCountsNoMoreThanCanHavePassed) {
  constexpr double twenty_years = 175'200 * 3600.0;
  RunTotals totals;
  totals.take(StartEvent{.time = 100, .fencing_token = 1});
  totals.take(StepEvent{.time = 110, .epoch = 1, .step = 10, .fencing_token = 1});
  totals.take(StartEvent{.time = twenty_years, .fencing_token = 2});
  totals.take(StepEvent{.time = twenty_years + 10, .epoch = 1, .step = 20, .fencing_token = 2});
  EXPECT_DOUBLE_EQ(totals.step_seconds(), 20);
  EXPECT_EQ(totals.goodput(30, /*most_seconds=*/40), 0.5);
  EXPECT_EQ(totals.goodput(50, /*most_seconds=*/40), 0.4) << "measured";
}

/// One rank is not what an array is.
TEST(Summary, AnArrayIsToldByItsTasks) {
  auto summary = summarize(RunTotals(), RunStatus::completed, 2, 1);
  summary.tasks = {{RunStatus::completed, 10}};
  const auto places = SummaryPlaces{"/runs/a", "", "dllaunch run a"};
  EXPECT_EQ(render_summary(summary, places),
            "completed: 10 tasks, 2.0 s\n  run         /runs/a\n"
            "  logs        /runs/a/task-N/out of task N; all: dllaunch logs /runs/a\n");
  EXPECT_EQ(to_json(summary)["tasks"].dump(), R"({"completed":10})");
  summary.tasks = {{RunStatus::completed, 8}, {RunStatus::failed, 1}, {RunStatus::timeout, 1}};
  summary.status = RunStatus::failed;
  const auto text = render_summary(summary, places);
  EXPECT_TRUE(text.starts_with("failed: 10 tasks (8 completed, 1 failed, 1 timeout), 2.0 s\n"))
      << text;
  EXPECT_TRUE(text.ends_with("\n  explain     dllaunch explain failed\n")) << text;
  EXPECT_FALSE(to_json(Summary()).contains("tasks"));
}

TEST(Summary, TellsRestartsWithReasonsTimesAndWhatTheyLost) {
  const auto summary = summarize(restarted(), RunStatus::failed, 40, 2);
  const auto json = to_json(summary);
  EXPECT_EQ(json["restarts"], 1);
  EXPECT_EQ(json["lost_steps"], 8);
  EXPECT_DOUBLE_EQ(json["lost_seconds"], 8);
  EXPECT_EQ(json["goodput"], 0.3);
  ASSERT_EQ(json["restart_list"].size(), 1u);
  const auto& restart = json["restart_list"][0];
  EXPECT_EQ(restart["reason"], "rank 1 was killed");
  EXPECT_EQ(restart["time"], 131);
  EXPECT_EQ(restart["from"], "/runs/a/checkpoints/step-00000012");
  EXPECT_EQ(restart["step"], 12);
  EXPECT_EQ(restart["lost_steps"], 8);
  EXPECT_TRUE(restart["down_seconds"].is_null());
  EXPECT_NE(render_summary(summary, {}).find(", goodput 30 %, restarts 1, 8 steps lost\n"),
            std::string::npos);
}

TEST(Summary, RememberWhatTheNewestStartRefused) {
  RunTotals totals;
  const auto refused = [](int step) {
    return CheckpointRefusedEvent{.time = 1, .path = "step-" + std::to_string(step), .why = "x"};
  };
  totals.take(StartEvent{.time = 1});
  for (int step = 0; step < 20; ++step) totals.take(refused(step));
  EXPECT_EQ(totals.refused().size(), 8u);
  totals.take(StartEvent{.time = 2});
  EXPECT_TRUE(totals.refused().empty());
  totals.take(refused(7));
  EXPECT_EQ(totals.refused().at(0).path, "step-7");
}

TEST(Summary, ARunOfVeryManyEpochsRemembersTheNewest) {
  RunTotals totals;
  totals.take(StartEvent{.time = 1});
  for (int epoch = 1; epoch <= 20'000; ++epoch) {
    const double time = 1.0 + epoch;
    totals.take(StepEvent{.time = time, .epoch = epoch, .step = epoch});
    totals.take(EpochEvent{.time = time, .epoch = epoch, .step = epoch});
  }
  EXPECT_EQ(totals.epochs(), 20'000);
  totals.take(StartEvent{.time = 30'000});
  totals.take(RestartEvent{.time = 30'000, .reason = "resume", .step = 19'000});
  EXPECT_EQ(totals.epochs(), 19'000);
}

TEST(Summary, CountsStallsAndKnowsTheOneThatIsNotOver) {
  RunTotals totals;
  const auto stall = [](const std::string& state) {
    return StallEvent{.time = 1, .state = state, .line = "rank 1 " + state};
  };
  for (const char* state : {"late", "late", "over", "late", "gave up"}) totals.take(stall(state));
  EXPECT_EQ(totals.stalls(), 2);
  ASSERT_TRUE(totals.stall());
  EXPECT_EQ(totals.stall()->line, "rank 1 gave up");
  auto summary = summarize(totals, RunStatus::failed, 24, 2);
  EXPECT_EQ(to_json(summary)["stalls"], 2);
  EXPECT_NE(render_summary(summary, {}).find(", stalls 2"), std::string::npos);
  totals.take(StartEvent{.time = 2});
  EXPECT_FALSE(totals.stall());
}

TEST(Summary, NextIsWhatTheCommandDoes) {
  EXPECT_EQ(next_words("go", true, true), "go   resumes from the checkpoint");
  EXPECT_EQ(next_words("go", true, false), "go   resumes from the checkpoint");
  EXPECT_EQ(next_words("go", false, true), "go   starts from the beginning");
  EXPECT_EQ(next_words("go", false, false), "go   starts the program again");
}

TEST(Summary, ForPeople) {
  auto done = summarize(two_epochs(), RunStatus::completed, 24, 2);
  done.epochs = 2;
  std::string text =
      render_summary(done, {"/runs/a", "/runs/a/checkpoints/step-00000003", "dllaunch run a"});
  auto stopped = summarize(RunTotals(), RunStatus::timeout, 60, 1);
  stopped.queue_seconds = 5;
  text += render_summary(stopped, {"/runs/my run", "", "dllaunch run b"});
  EXPECT_TRUE(matches_golden("launcher/summary.txt", text));
}

TEST(Summary, EveryStatusHasItsWord) {
  EXPECT_EQ(to_string(RunStatus::completed), "completed");
  EXPECT_EQ(to_string(RunStatus::node_fail), "node_fail");
  EXPECT_EQ(to_string(RunStatus::out_of_memory), "out_of_memory");
}

}  // namespace
}  // namespace dllaunch
