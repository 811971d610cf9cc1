#include "launcher/monitor/progress.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

StartEvent start_of_three() {
  return {.time = 100,
          .ranks = 2,
          .nodes = 1,
          .model = "cnn",
          .parameters = 1199882,
          .global_batch = 128,
          .epochs = 3,
          .steps_per_epoch = 10};
}

StepEvent step(std::int64_t epoch, std::int64_t number, double time) {
  return {.time = time,
          .epoch = epoch,
          .step = number,
          .loss = 2.0 / static_cast<double>(number),
          .images_per_s = 1280.0 * static_cast<double>(number)};
}

EpochEvent epoch(std::int64_t number, double time) {
  return {.time = time,
          .epoch = number,
          .loss = 0.5,
          .accuracy = 0.8,
          .val_loss = 0.4,
          .val_accuracy = 0.85,
          .seconds = 10,
          .images_per_s = 12800};
}

/// Two epochs and a checkpoint, drawn after every event; control characters made visible.
std::string whole_run(const ProgressStyle& style) {
  Progress progress(style);
  std::string text;
  const auto show = [&](const Event& event) {
    progress.take(event);
    text += progress.draw(time_of(event));
  };
  show(start_of_three());
  for (int i = 1; i <= 10; ++i) show(step(1, i, 100 + 4 * i));
  show(epoch(1, 145));
  show(CheckpointEvent{.time = 146,
                       .path = "/run/checkpoints/step-00000010",
                       .epoch = 1,
                       .step = 10,
                       .seconds_blocked = 0.25});
  for (int i = 11; i <= 20; ++i) show(step(2, i, 106 + 4 * i));
  show(CheckpointFailedEvent{.time = 189, .step = 15, .why = "cannot write a: No space left"});
  show(epoch(2, 190));
  show(
      RestartEvent{.time = 191, .reason = "rank 1 died", .from = "/run/checkpoints/step-00000010"});
  show(CheckpointRefusedEvent{.time = 192,
                              .path = "/run/checkpoints/step-00000015",
                              .why = "model.safetensors is truncated: 50 of 200 bytes"});
  show(RanksEvent{.time = 255, .epoch = 2, .notes = {"rank 3 on n1: computes 1.31 x the median"}});
  show(StallEvent{.time = 260, .late_ranks = {1, 3}, .collective = "all_reduce", .seconds = 60});
  show(StallEvent{.time = 260.5,
                  .state = "over",
                  .late_ranks = {1},
                  .collective = "all_reduce #7",
                  .line = "stall: all_reduce #7 continued after 60 s"});
  show(EndEvent{.time = 261, .status = "completed", .seconds = 161});
  text += progress.finish();
  std::string visible;
  for (const char c : text) {
    if (c == '\r') {
      visible += "<CR>";
    } else if (c == '\033') {
      visible += "<ESC>";
    } else {
      visible += c;
    }
  }
  return visible;
}

TEST(Progress, OnATerminal) {
  EXPECT_TRUE(matches_golden("launcher/progress_terminal.txt",
                             whole_run({.terminal = true, .columns = 80, .run_dir = "/run"})));
}

TEST(Progress, InAFile) {
  EXPECT_TRUE(matches_golden("launcher/progress_plain.txt", whole_run({.run_dir = "/run"})));
}

TEST(Progress, OfTokensShowsTheirRateAndThePerplexity) {
  Progress progress({.run_dir = "/run"});
  progress.take(start_of_three());
  auto one = epoch(1, 145);
  one.tokens_per_s = 204800;
  one.val_perplexity = 1.5;
  progress.take(one);
  EXPECT_NE(progress.draw(145).find("val_loss 0.4000, val_perplexity 1.5000, val_accuracy 0.8500, "
                                    "204,800 tokens/s"),
            std::string::npos);
  one.val_perplexity = 1e112;
  progress.take(one);
  EXPECT_NE(progress.draw(146).find("val_perplexity 1e+112, "), std::string::npos);
}

TEST(Progress, LiveLineFitsEveryWidth) {
  for (int columns = 12; columns < 140; ++columns) {
    Progress progress({.terminal = true, .columns = columns});
    progress.take(start_of_three());
    progress.take(step(1, 1, 101));
    progress.take(step(1, 5, 110));
    const std::string text = progress.draw(110);
    const auto line = text.substr(text.rfind('\n') + 1);
    EXPECT_LT(static_cast<int>(line.size()), columns) << line;
    EXPECT_EQ(line.rfind(" 5/10", 0), 0u) << line;
  }
}

TEST(Progress, RedrawsAtMostTenTimesASecond) {
  Progress progress({.terminal = true});
  progress.take(start_of_three());
  progress.take(step(1, 1, 101));
  progress.draw(101);
  progress.take(step(1, 2, 101.05));
  EXPECT_EQ(progress.draw(101.05), "");
  EXPECT_NE(progress.draw(101.2), "");
}

TEST(Progress, AfterItsEndLinesStandAlone) {
  Progress progress({.terminal = true});
  progress.take(start_of_three());
  progress.take(step(1, 1, 101));
  progress.draw(101);
  progress.finish();
  progress.say("job 7 goes on");
  EXPECT_EQ(progress.draw(102), "job 7 goes on\n");
}

TEST(Progress, HeartbeatOnlyWhenNothingElseWasWritten) {
  Progress progress({});
  progress.take(start_of_three());
  progress.take(step(1, 1, 101));
  progress.draw(101);
  EXPECT_EQ(progress.draw(120), "");
  EXPECT_NE(progress.draw(132), "");
  EXPECT_EQ(progress.draw(140), "");
  EXPECT_NE(progress.draw(163), "");
}

TEST(Progress, ATrainerThatGoesOnSaysFromWhere) {
  Progress progress({.run_dir = "/run"});
  progress.take(RestartEvent{.reason = "resume", .from = "/run/checkpoints/step-00000010"});
  EXPECT_EQ(progress.draw(1), "resumed from checkpoints/step-00000010\n");
  progress.take(RestartEvent{});
  EXPECT_EQ(progress.draw(2), "restarted: reason unknown\n");
}

TEST(Progress, SaysWhatIsFrozenAndWhereWeightsCameFrom) {
  Progress progress({.terminal = false});
  auto start = start_of_three();
  start.frozen = 1000000;
  start.init_from = "cnn.safetensors";
  progress.take(start);
  EXPECT_EQ(progress.draw(100),
            "cnn, 1,199,882 parameters (1,000,000 frozen), 2 ranks, global batch 128\n"
            "weights from cnn.safetensors\n");
}

TEST(Progress, WaitingIsSaidOncePerChange) {
  Progress progress({});
  progress.waiting("job 1: Priority");
  EXPECT_EQ(progress.draw(1), "job 1: Priority\n");
  progress.waiting("job 1: Priority");
  EXPECT_EQ(progress.draw(2), "");
  progress.waiting("job 1: Resources");
  EXPECT_EQ(progress.draw(3), "job 1: Resources\n");
}

TEST(Progress, AResumedRunCountsFromTheEpochsBeginning) {
  Progress progress({.terminal = true});
  progress.take(start_of_three());
  progress.take(step(2, 14, 101));
  const std::string text = progress.draw(101);
  EXPECT_NE(text.find("Epoch 2/3"), std::string::npos) << text;
  EXPECT_NE(text.find("4/10"), std::string::npos) << text;
}

/// With max_steps 14 of 10 steps an epoch, the second epoch is the last, and has four steps.
TEST(Progress, MaxStepsIsTheEnd) {
  Progress plain({.epochs = 3, .max_steps = 14});
  plain.take(start_of_three());
  plain.draw(100);
  plain.take(step(1, 10, 110));
  EXPECT_EQ(plain.draw(150), "epoch 1/2: step 10/10, loss 0.2000, 12,800 images/s\n");
  plain.take(step(2, 14, 151));
  EXPECT_EQ(plain.draw(200), "epoch 2/2: step 4/4, loss 0.1429, 17,920 images/s\n");
  Progress terminal({.terminal = true, .epochs = 3, .max_steps = 14});
  terminal.take(start_of_three());
  for (int i = 11; i <= 14; ++i) terminal.take(step(2, i, 100 + i));
  const auto live = terminal.draw(200);
  EXPECT_NE(live.find("Epoch 2/2\n4/4 [===="), std::string::npos) << live;
  EXPECT_NE(live.find("ETA 0:00"), std::string::npos) << live;
  terminal.take(epoch(2, 201));
  const auto end = terminal.draw(202);
  EXPECT_NE(end.find("4/4  10.0 s"), std::string::npos) << end;
}

}  // namespace
}  // namespace dllaunch
