#include "launcher/run/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {
namespace {

StepEvent step(double time, std::int64_t number, std::int64_t fencing_token = 0) {
  return {.time = time, .epoch = 1, .step = number, .fencing_token = fencing_token};
}

RestartEvent resume(double time, std::int64_t number, std::int64_t fencing_token = 0) {
  return {.time = time,
          .reason = "resume",
          .from = "/runs/x/checkpoints/step-" + std::to_string(number),
          .step = number,
          .fencing_token = fencing_token};
}

TEST(History, OfALifeAloneEverythingCounts) {
  History history;
  EXPECT_TRUE(history.take(StartEvent{.time = 10}));
  EXPECT_TRUE(history.take(step(12, 1)));
  EXPECT_TRUE(history.take(step(15, 4)));
  EXPECT_TRUE(history.take(EndEvent{.time = 16, .status = "completed"}));
  EXPECT_EQ(history.step(), 4);
  EXPECT_DOUBLE_EQ(history.step_seconds(), 5);
  EXPECT_EQ(history.restart_count(), 0);
  EXPECT_EQ(history.lost_steps(), 0);
  EXPECT_DOUBLE_EQ(history.span_seconds(), 6);
  EXPECT_DOUBLE_EQ(history.span_until(30), 20);
}

TEST(History, APauseIsNoTime) {
  History history;
  history.take(StartEvent{.time = 10});
  history.take(step(12, 1));
  history.take(PauseEvent{.time = 40, .seconds = 25});
  history.take(step(40, 2));
  EXPECT_DOUBLE_EQ(history.latest_seconds(), 3);
  EXPECT_DOUBLE_EQ(history.step_seconds(), 5);
  history.take(PauseEvent{.time = 160, .seconds = 100});
  history.take(EpochEvent{.time = 160, .epoch = 1});
  history.take(step(161, 3));
  EXPECT_DOUBLE_EQ(history.step_seconds(), 6) << "the second pause was before this step";
  EXPECT_DOUBLE_EQ(history.paused_seconds(), 125);
  EXPECT_DOUBLE_EQ(history.span_seconds(), 26);
}

TEST(History, WhatWasTrainedBeyondTheCheckpointIsLost) {
  History history;
  history.take(StartEvent{.time = 100});
  history.take(step(101, 1));
  history.take(step(105, 5));
  history.take(CheckpointEvent{.time = 105, .path = "step-5", .step = 5, .seconds_blocked = 0});
  history.take(step(109, 9));  // then killed
  EXPECT_DOUBLE_EQ(history.step_seconds(), 9);

  history.take(StartEvent{.time = 120});
  ASSERT_EQ(history.restart_count(), 1);
  history.take(resume(120, 5));
  EXPECT_EQ(history.step(), 5);
  EXPECT_EQ(history.lost_steps(), 4);
  EXPECT_DOUBLE_EQ(history.lost_seconds(), 4);
  EXPECT_DOUBLE_EQ(history.step_seconds(), 5);
  const auto& restart = history.restarts().at(0);
  EXPECT_FALSE(restart.down_seconds);
  history.take(step(121, 6));
  history.take(step(124, 9));
  EXPECT_DOUBLE_EQ(history.step_seconds(), 9) << "once, and in the time of the second incarnation";
  EXPECT_EQ(restart.reason, "the previous start ended without a message");
  EXPECT_EQ(restart.step, 5);
  EXPECT_EQ(restart.lost_steps, 4);
  EXPECT_EQ(restart.down_seconds, 12);
  EXPECT_DOUBLE_EQ(restart.time, 120);
  EXPECT_EQ(restart_words(restart),
            "the previous start ended without a message; from step 5, 4 steps lost, down 12.0 s");
  EXPECT_DOUBLE_EQ(history.span_seconds(), 24);
}

TEST(History, AnOrphanDoesNotCountFromTheFirstLineOfALaterLifeOn) {
  History history;
  history.take(StartEvent{.time = 1, .fencing_token = 3});
  EXPECT_TRUE(history.take(step(2, 1, 3)));
  EXPECT_TRUE(history.take(step(4, 3, 3)));
  history.take(StartEvent{.time = 5, .fencing_token = 4});
  EXPECT_FALSE(history.take(step(5, 4, 3)));
  history.take(resume(5, 2, 4));
  EXPECT_TRUE(history.take(step(6, 3, 4)));
  EXPECT_FALSE(history.take(step(7, 6, 3)));
  EXPECT_FALSE(history.take(EpochEvent{.time = 7, .epoch = 1, .fencing_token = 3}));
  EXPECT_FALSE(history.take(CheckpointEvent{.time = 7, .step = 6, .fencing_token = 3}));
  EXPECT_FALSE(history.take(RestartEvent{.time = 7, .reason = "resume", .fencing_token = 3}));
  EXPECT_FALSE(history.take(StartEvent{.time = 7, .fencing_token = 3}));
  EXPECT_FALSE(history.take(EndEvent{.time = 8, .status = "completed", .fencing_token = 3}));
  EXPECT_TRUE(history.take(StallEvent{.time = 8}));  // of a rank that knows of no fencing token
  EXPECT_TRUE(history.take(step(9, 5, 4)));
  EXPECT_EQ(history.step(), 5);
  EXPECT_EQ(history.restart_count(), 1);
  EXPECT_EQ(history.lost_steps(), 1);
  EXPECT_DOUBLE_EQ(history.restarts()[0].down_seconds.value(), 2);
  // Steps 1 and 2 in a second each, then 3 in one, then 4 and 5: 7 to 9 is two seconds, one
  // of them for the line of the rank that stalled.
  EXPECT_DOUBLE_EQ(history.step_seconds(), 1 + 1 + 1 + 1);
}

TEST(History, AStepThatCountsAlreadyDoesNotCountAgain) {
  History history;
  history.take(StartEvent{.time = 1});
  EXPECT_TRUE(history.take(step(2, 1)));
  EXPECT_TRUE(history.take(step(3, 2)));
  EXPECT_FALSE(history.take(step(4, 2)));
  EXPECT_FALSE(history.take(step(5, 1)));
  EXPECT_TRUE(history.take(step(6, 3)));
  EXPECT_DOUBLE_EQ(history.step_seconds(), 5);
}

TEST(History, WithoutAResumeALifeBeginsBeforeItsFirstStep) {
  History history;
  history.take(StartEvent{.time = 1});
  history.take(step(3, 2));
  history.take(StartEvent{.time = 10});  // died before its first checkpoint
  history.take(step(11, 1));
  EXPECT_EQ(history.step(), 1);
  EXPECT_EQ(history.lost_steps(), 2);
  EXPECT_EQ(history.restarts().at(0).step, 0);
  EXPECT_EQ(
      restart_words(history.restarts()[0]),
      "the previous start ended without a message; from the beginning, 2 steps lost, down 8.0 s");
}

TEST(History, ALifeThatDiedBeforeItsFirstStepIsARestartThatLostNothing) {
  History history;
  history.take(StartEvent{.time = 1});
  history.take(step(5, 8));
  history.take(StartEvent{.time = 10});  // and died
  history.take(StartEvent{.time = 20});
  history.take(resume(20, 6));
  history.take(step(22, 7));
  EXPECT_EQ(history.restart_count(), 2);
  EXPECT_EQ(history.restarts()[0].lost_steps, 0);
  EXPECT_FALSE(history.restarts()[0].down_seconds);
  EXPECT_EQ(history.restarts()[1].lost_steps, 2);
  EXPECT_EQ(history.restarts()[1].down_seconds, 12);
}

TEST(History, IsDownFromARestartToAStepAndNotAtTheBeginningOfASubmission) {
  History history;
  history.recall(StartEvent{.time = 1});
  history.recall(step(5, 8));
  history.take(StartEvent{.time = 1000});
  history.take(resume(1001, 6));
  EXPECT_EQ(history.restart_count(), 1);
  EXPECT_FALSE(history.is_down());
  history.take(step(1003, 7));
  history.take(StartEvent{.time = 1010});
  history.take(resume(1011, 6));
  EXPECT_TRUE(history.is_down());
  history.take(step(1012, 7));
  EXPECT_FALSE(history.is_down());
}

TEST(History, ARestartHasItsReasonAndQueueTime) {
  History history;
  history.take(StartEvent{.time = 1, .fencing_token = 1});
  history.take(step(4, 3, 1));
  history.take(EndEvent{.time = 5, .status = "cancelled", .fencing_token = 1});
  history.take(
      RestartEvent{.time = 300, .reason = "time limit", .queue_seconds = 290, .fencing_token = 2});
  history.take(StartEvent{.time = 301, .fencing_token = 2});
  history.take(resume(301, 3, 2));
  history.take(step(303, 4, 2));
  ASSERT_EQ(history.restart_count(), 1);
  EXPECT_EQ(history.restarts()[0].reason, "time limit");
  EXPECT_EQ(history.restarts()[0].down_seconds, 303 - 5 - 290);
  EXPECT_DOUBLE_EQ(history.span_seconds(), 302 - 290);
  history.take(EndEvent{.time = 304, .status = "failed", .fencing_token = 2});
  history.take(StartEvent{.time = 310, .fencing_token = 3});
  history.take(resume(310, 4, 3));
  EXPECT_EQ(history.restarts()[1].reason, "the previous start ended as failed");
}

TEST(History, InterruptionsLastUntilTheFirstStepBeginsAgain) {
  History history;
  history.take(StartEvent{.time = 1, .fencing_token = 1});
  history.take(step(4, 3, 1));
  history.take(RestartEvent{.time = 9, .reason = "?", .queue_seconds = 2, .fencing_token = 2});
  history.take(StartEvent{.time = 10, .fencing_token = 2});
  EXPECT_EQ(history.interrupted_seconds(), 0) << "it is not over";
  history.take(RestartEvent{.time = 300, .reason = "?", .queue_seconds = 280, .fencing_token = 3});
  history.take(StartEvent{.time = 301, .fencing_token = 3});
  history.take(resume(301, 3, 3));
  history.take(step(303, 4, 3));
  EXPECT_EQ(history.interrupted_seconds(), 301 - 4 - 280 - 2);
  history.take(step(304, 5, 3));
  EXPECT_EQ(history.interrupted_seconds(), 301 - 4 - 280 - 2);
}

TEST(History, WhatAnEarlierRunDidIsKnownButNotAccountedFor) {
  History history;
  history.recall(StartEvent{.time = 1});
  history.recall(step(5, 50));
  history.recall(EndEvent{.time = 6, .status = "cancelled"});
  EXPECT_EQ(history.step(), 50);
  EXPECT_DOUBLE_EQ(history.step_seconds(), 0);
  history.take(StartEvent{.time = 1000});
  EXPECT_EQ(history.restart_count(), 0);
  history.take(resume(1000, 40));
  history.take(step(1002, 41));
  EXPECT_EQ(history.restart_count(), 1) << "by hand";
  EXPECT_EQ(history.restarts()[0].reason, "the previous start ended as cancelled");
  EXPECT_EQ(history.restarts()[0].lost_steps, 10);
  EXPECT_FALSE(history.restarts()[0].down_seconds) << "the time between is not counted as downtime";
  EXPECT_DOUBLE_EQ(history.step_seconds(), 2);
  EXPECT_DOUBLE_EQ(history.span_seconds(), 2);
}

TEST(History, AnotherRunsCheckpointIsNoRestart) {
  History history;
  history.take(StartEvent{.time = 1});
  history.take(resume(1, 500));
  history.take(step(3, 501));
  EXPECT_EQ(history.restart_count(), 0);
  EXPECT_EQ(history.lost_steps(), 0);
  EXPECT_DOUBLE_EQ(history.step_seconds(), 2);
  history.take(StartEvent{.time = 10});
  history.take(resume(10, 500));
  EXPECT_EQ(history.lost_steps(), 1);
  EXPECT_DOUBLE_EQ(history.step_seconds(), 0);
}

TEST(History, OlderTrainersNameTheStepInThePathOnly) {
  const auto lost_after = [](const std::string& from) {
    History history;
    history.take(StartEvent{.time = 1});
    history.take(step(9, 600));
    history.take(StartEvent{.time = 10});
    history.take(RestartEvent{.time = 10, .reason = "resume", .from = from});
    return history.lost_steps();
  };
  EXPECT_EQ(lost_after("/runs/x/checkpoints/step-00000469"), 131);
  EXPECT_EQ(lost_after("step-00000600"), 0);
  EXPECT_EQ(lost_after("/runs/step-7/last"), 0) << "nothing is known until its first step";
  EXPECT_EQ(lost_after("step-99999999999999999999"), 0);
  EXPECT_EQ(lost_after(""), 0);
}

TEST(History, KeepsTheNewestRestartsAndTheSumsOfAll) {
  History history;
  for (int i = 0; i < 1000; ++i) {
    history.take(StartEvent{.time = 10.0 * i});
    history.take(step(10.0 * i + 3, 3));
  }
  EXPECT_EQ(history.restart_count(), 999);
  EXPECT_EQ(history.restarts().size(), History::most_restarts);
  EXPECT_DOUBLE_EQ(history.restarts().back().time, 9990);
  EXPECT_EQ(history.lost_steps(), 999);
}

TEST(History, AReasonFromAnywhereIsOneShortLine) {
  const std::string words = restart_words({.reason = "bad\n\033[2J" + std::string(5000, 'x')});
  EXPECT_LT(words.size(), 500u);
  EXPECT_EQ(words.find('\n'), std::string::npos);
  EXPECT_EQ(words.find('\033'), std::string::npos);
}

TEST(History, ARestartAsJson) {
  const auto json = to_json(Restart{
      .time = 5, .reason = "r", .from = "c", .step = 3, .lost_steps = 2, .lost_seconds = 0.5});
  EXPECT_EQ(json.dump(),
            R"({"time":5.0,"reason":"r","from":"c","step":3,"lost_steps":2,"lost_seconds":0.5,)"
            R"("down_seconds":null})");
}

/// Captured: two incarnations of one rank at once; the second took the directory over.
TEST(History, OfTwoRealLivesAtOnceEachStepCountsOnce) {
  std::ifstream lines(std::string(DLLAUNCH_SOURCE_DIR) + "/tests/fixtures/events/two_lives.jsonl");
  History history;
  std::vector<std::int64_t> counted;
  std::vector<std::int64_t> orphans;
  std::int64_t last = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto event = parse_event(line);
    ASSERT_TRUE(event) << line;
    const bool counts = history.take(*event);
    const auto* told = std::get_if<StepEvent>(&*event);
    const std::int64_t valid = told != nullptr && counts ? told->step - 1 : history.step();
    while (!counted.empty() && counted.back() > valid) counted.pop_back();
    if (told == nullptr) continue;
    (counts ? counted : orphans).push_back(told->step);
    if (told->fencing_token == 2) last = told->step;
  }
  EXPECT_EQ(orphans, std::vector<std::int64_t>{13});
  EXPECT_TRUE(std::is_sorted(counted.begin(), counted.end()));
  EXPECT_EQ(std::set(counted.begin(), counted.end()).size(), counted.size());
  EXPECT_EQ(history.step(), last);
  EXPECT_GT(last, 30);
  ASSERT_EQ(history.restart_count(), 1);
  EXPECT_EQ(history.restarts()[0].step, 6);
  EXPECT_EQ(history.lost_steps(), 4) << "the first incarnation had reported step 10";
  EXPECT_GT(history.lost_seconds(), 0);
  EXPECT_LT(history.step_seconds(), history.span_seconds());
}

/// A run of several incarnations with steps of a second each, and orphans that keep writing.
struct Incarnations {
  std::vector<Event> events;
  std::int64_t last_step = 0;   // of the last incarnation
  std::int64_t lost_steps = 0;  // as far as events told of them
  int restarts = 0;
};

Incarnations some_incarnations(std::mt19937& random) {
  Incarnations incarnations;
  const int count = 1 + static_cast<int>(random() % 6);
  double time = 1000;
  std::int64_t reached = 0;
  std::vector<Event> late;  // what the incarnation before writes when the next one has begun
  for (int fencing_token = 1; fencing_token <= count; ++fencing_token) {
    const auto base = reached == 0 ? 0 : static_cast<std::int64_t>(random() % (reached + 1));
    incarnations.lost_steps += reached - base;
    if (fencing_token > 1) ++incarnations.restarts;
    std::vector<Event> own{StartEvent{.time = time, .fencing_token = fencing_token}};
    if (base > 0) own.push_back(resume(time, base, fencing_token));
    const auto steps = 1 + static_cast<std::int64_t>(random() % 40);
    reached = base;
    for (std::int64_t number = base + 1; number <= base + steps; ++number) {
      if (number > base + 1 && random() % 3 == 0) continue;  // not every step is told
      reached = number;
      own.push_back(step(time + static_cast<double>(number - base), number, fencing_token));
    }
    // The orphan's lines come between these, wherever they like, but in their own order.
    std::size_t next = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      incarnations.events.push_back(own[i]);
      while (next < late.size() && random() % 2 == 0) incarnations.events.push_back(late[next++]);
    }
    late.clear();
    for (std::int64_t number = reached + 1; number < reached + 20; ++number) {
      const double when = time + static_cast<double>(number - base);
      if (random() % 2 == 0) late.push_back(step(when, number, fencing_token));
      if (random() % 9 == 0) late.push_back(EndEvent{.time = when, .fencing_token = fencing_token});
    }
    time += 1000;
  }
  incarnations.last_step = reached;
  return incarnations;
}

TEST(History, OfAnyLivesEachStepCountsOnce) {
  std::mt19937 random(17);
  for (int i = 0; i < 2000; ++i) {
    const Incarnations incarnations = some_incarnations(random);
    History history;
    std::vector<std::int64_t> counted;
    for (const Event& event : incarnations.events) {
      const bool counts = history.take(event);
      const auto* told = counts ? std::get_if<StepEvent>(&event) : nullptr;
      // What is shown of a step that counts now is not what an earlier incarnation told of it.
      const std::int64_t valid = told != nullptr ? told->step - 1 : history.step();
      while (!counted.empty() && counted.back() > valid) counted.pop_back();
      if (told != nullptr) counted.push_back(told->step);
    }
    ASSERT_EQ(history.step(), incarnations.last_step);
    ASSERT_EQ(history.restart_count(), incarnations.restarts);
    ASSERT_EQ(history.lost_steps(), incarnations.lost_steps);
    ASSERT_TRUE(std::is_sorted(counted.begin(), counted.end()));
    ASSERT_EQ(std::set(counted.begin(), counted.end()).size(), counted.size());
    ASSERT_EQ(counted.back(), incarnations.last_step);
    // A second each, and all of them up to the last.
    ASSERT_NEAR(history.step_seconds(), static_cast<double>(incarnations.last_step), 1e-6);
  }
}

/// Lines from anywhere: nothing is counted twice, nothing is negative, and nothing grows for ever.
TEST(History, WhateverTheEventsSayTheSumsStayInBounds) {
  std::mt19937 random(23);
  const auto number = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * most)) - most / 2;
  };
  for (int i = 0; i < 300; ++i) {
    History history;
    for (int k = 0; k < 300; ++k) {
      const double time = static_cast<double>(number(1000));
      const std::int64_t fencing_token = random() % 2 == 0 ? 0 : number(5);
      Event event = step(time, number(50), fencing_token);
      if (random() % 8 == 0) event = StartEvent{.time = time, .fencing_token = fencing_token};
      if (random() % 8 == 0) event = resume(time, number(50), fencing_token);
      if (random() % 9 == 0) {
        event = RestartEvent{.time = time, .reason = "?", .queue_seconds = number(9)};
      }
      if (random() % 9 == 0) {
        event = CheckpointEvent{.time = time, .seconds_blocked = number(9)};
      }
      random() % 5 == 0 ? history.recall(event) : history.take(event);
      ASSERT_GE(history.step(), 0);
      ASSERT_GE(history.step_seconds(), -1e-9);
      ASSERT_GE(history.lost_steps(), 0);
      ASSERT_GE(history.lost_seconds(), -1e-9);
      ASSERT_GE(history.span_seconds(), 0);
      for (const auto& restart : history.restarts()) {
        ASSERT_GE(restart.lost_steps, 0);
        ASSERT_GE(restart.down_seconds.value_or(0), 0);
      }
    }
  }
}

}  // namespace
}  // namespace dllaunch
