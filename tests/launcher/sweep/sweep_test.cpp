#include "launcher/sweep/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Runs a sweep whose trials have these final values; each comes nearer to its own with its epochs.
/// `concurrent` run at a time; the one that started first ends first. Returns the epochs trained.
std::int64_t carry_out(Sweep& sweep, const std::vector<double>& finals, std::size_t concurrent) {
  std::vector<std::pair<int, std::int64_t>> running;
  std::int64_t trained = 0;
  for (;;) {
    std::optional<NextStep> step;
    while (running.size() < concurrent && (step = next_step(sweep))) {
      const auto number = static_cast<std::size_t>(step->number);
      if (number == sweep.trials.size()) sweep.trials.push_back({.number = step->number});
      Trial& trial = sweep.trials[number];
      trial.state = TrialState::running;
      trial.target = step->target;
      running.emplace_back(step->number, step->target);
    }
    if (running.empty()) return trained;
    Trial& done = sweep.trials[static_cast<std::size_t>(running.front().first)];
    running.erase(running.begin());
    const auto until = done.target == 0 ? 1 : done.target;
    trained += until - done.epochs();
    const double final = finals[static_cast<std::size_t>(done.number)];
    if (std::isnan(final)) {
      done.state = TrialState::failed;
      continue;
    }
    const double away = 1.0 / static_cast<double>(until);
    done.values[until] = sweep.minimize ? final + away : final - away;
    done.state = done.target == 0 || done.target == sweep.rungs.back() ? TrialState::completed
                                                                       : TrialState::paused;
  }
}

std::vector<double> finals(int many) {
  std::vector<double> values;
  for (int i = 0; i < many; ++i) values.push_back(std::fmod(i * 0.37, 1));
  return values;
}

TEST(Rungs, EndWithTheWholeTrial) {
  EXPECT_THAT(rungs_of(1, 9, 3), ElementsAre(1, 3, 9));
  EXPECT_THAT(rungs_of(2, 27, 3), ElementsAre(3, 9, 27));
  EXPECT_THAT(rungs_of(1, 9, 2), ElementsAre(1, 2, 5, 9));
  EXPECT_THAT(rungs_of(5, 6, 3), ElementsAre(6));
}

TEST(Asha, GivesTheBestTrialAllEpochsAndMostTrialsFew) {
  for (const std::size_t concurrent : {1, 4, 7}) {
    Sweep sweep{.most_trials = 27, .rungs = {1, 3, 9}, .reduction = 3};
    const auto values = finals(27);
    const auto trained = carry_out(sweep, values, concurrent);
    EXPECT_EQ(sweep.trials.size(), 27U);
    const auto best = std::ranges::max_element(values) - values.begin();
    EXPECT_EQ(best_of(sweep)->number, best);
    EXPECT_EQ(best_of(sweep)->epochs(), 9);
    EXPECT_LT(trained, 27 * 9 / 2);
    for (const Trial& trial : sweep.trials) EXPECT_NE(trial.state, TrialState::running);
  }
}

TEST(Asha, PromotesTheBestEvenOfFewTrials) {
  Sweep sweep{.most_trials = 2, .rungs = {1, 3, 9}, .reduction = 3};
  carry_out(sweep, {0.2, 0.9}, 2);
  EXPECT_EQ(best_of(sweep)->number, 1);
  EXPECT_EQ(best_of(sweep)->epochs(), 9);
  EXPECT_EQ(sweep.trials[0].epochs(), 1);
}

TEST(Asha, LowerIsBetterWhereSaid) {
  Sweep sweep{.minimize = true, .most_trials = 9, .rungs = {1, 9}, .reduction = 3};
  carry_out(sweep, finals(9), 1);
  EXPECT_EQ(best_of(sweep)->number, 0);
}

TEST(Asha, FailedTrialsAreTheWorstOfTheirRung) {
  auto values = finals(9);
  for (const std::size_t i : {1, 2, 5}) values[i] = std::nan("");
  Sweep sweep{.most_trials = 9, .rungs = {1, 3}, .reduction = 3};
  carry_out(sweep, values, 2);
  EXPECT_EQ(best_of(sweep)->number, 8) << "0.96";
  EXPECT_EQ(best_of(sweep)->epochs(), 3);
  for (const std::size_t i : {1, 2, 5}) EXPECT_EQ(sweep.trials[i].state, TrialState::failed);
  Sweep all_fail{.most_trials = 3, .rungs = {1, 3}, .reduction = 3};
  carry_out(all_fail, {std::nan(""), std::nan(""), std::nan("")}, 2);
  EXPECT_EQ(best_of(all_fail), nullptr);
}

TEST(Asha, AFailedTrialIsNotAmongTheBestWhateverItPrinted) {
  Sweep sweep{.most_trials = 2, .rungs = {1, 2}};
  sweep.trials = {{.number = 0, .state = TrialState::failed, .target = 1, .values = {{1, 9.0}}},
                  {.number = 1, .state = TrialState::paused, .target = 1, .values = {{1, 0.5}}}};
  const auto step = next_step(sweep);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->number, 1);
}

/// A lone trial of a high rung waits for the ordinary promotions below it.
TEST(Asha, OrdinaryPromotionsComeBeforeTheLast) {
  Sweep sweep{.most_trials = 4, .rungs = {1, 2, 4}};
  for (int i = 0; i < 4; ++i)
    sweep.trials.push_back({.number = i,
                            .state = TrialState::paused,
                            .target = i == 0 ? 2 : 1,
                            .values = {{1, 0.1 * i}}});
  sweep.trials[0].values[2] = 0.1;
  EXPECT_EQ(next_step(sweep)->number, 3);
  EXPECT_EQ(next_step(sweep)->target, 2);
}

TEST(NextStep, WithoutAshaStartsAllAndEnds) {
  Sweep sweep{.most_trials = 5};
  carry_out(sweep, finals(5), 2);
  EXPECT_EQ(sweep.trials.size(), 5U);
  EXPECT_FALSE(next_step(sweep));
}

TEST(EndedFromOutside, ATrialIsStartedTenTimesAndAHangTwice) {
  Trial killed;
  for (int i = 0; i < 9; ++i) ended_from_outside(killed, "killed", false);
  EXPECT_EQ(killed.state, TrialState::running);
  ended_from_outside(killed, "killed", true);
  EXPECT_EQ(killed.attempts, 0) << "it got on";
  for (int i = 0; i < 10; ++i) ended_from_outside(killed, "killed", false);
  EXPECT_EQ(killed.state, TrialState::failed);
  EXPECT_EQ(killed.reason, "killed; started 10 times in vain");

  Trial hung;
  ended_from_outside(hung, took_too_long, true);
  ended_from_outside(hung, took_too_long, false);
  EXPECT_EQ(hung.state, TrialState::running) << "the first got on";
  ended_from_outside(hung, took_too_long, false);
  EXPECT_EQ(hung.reason, std::string(took_too_long) + "; started 2 times in vain");
  Trial other;
  ended_from_outside(other, "killed", false);
  ended_from_outside(other, took_too_long, false);
  EXPECT_EQ(other.state, TrialState::running) << "it hung once";
}

TEST(Budget, EndsWithTheHoursOrTheMoment) {
  Sweep sweep{.most_trials = 3};
  sweep.trials = {{.number = 0, .gpu_seconds = 1799}, {.number = 1, .gpu_seconds = 1800}};
  EXPECT_EQ(why_over(sweep, {}, 1e10), "");
  EXPECT_EQ(why_over(sweep, {.gpu_hours = 1}, 0), "");
  sweep.trials[0].gpu_seconds += 1;
  EXPECT_EQ(why_over(sweep, {.gpu_hours = 1}, 0), "sweep.gpu_hours are used up");
  EXPECT_EQ(why_over(sweep, {.gpu_hours = 1.1}, 0), "");
  EXPECT_EQ(why_over(sweep, {.until_s = 5000}, 4999.9), "");
  EXPECT_EQ(why_over(sweep, {.until_s = 5000}, 5000), "sweep.until has come");
}

Sweep example() {
  Sweep sweep{.name = "job<b>", .metric = "val_accuracy", .most_trials = 4, .job = "abc"};
  sweep.trials = {{.number = 0, .state = TrialState::completed, .values = {{1, 0.5}, {3, 0.7}}},
                  {.number = 1, .state = TrialState::failed, .reason = "failed: \x1b[31mred\n"},
                  {.number = 2, .state = TrialState::stopped, .values = {{1, 0.8}}}};
  sweep.trials[0].parameters = {{"train.optimizer.lr", 0.0123456}, {"batch", 32}};
  sweep.trials[0].run = "trial-00000";
  return sweep;
}

TEST(GpuTime, IsThatOfTheRunsBooksOrWhatTheDriverSaw) {
  Trial one;
  take_gpu_time(one, Json(), 4, {});
  EXPECT_EQ(one.gpu_seconds, 0) << "nothing is known of it";
  take_gpu_time(one, Json(), 4, 10);
  EXPECT_EQ(one.gpu_seconds, 40);
  take_gpu_time(one, {{"seconds", 5.0}, {"gpu_hours", nullptr}}, 4, 10);
  EXPECT_EQ(one.gpu_seconds, 60) << "half of the time was the queue's";
  const Json books = {{"seconds", 5.0}, {"gpu_hours", 0.1}};
  for (int i = 0; i < 2; ++i) take_gpu_time(one, books, 4, 10);
  EXPECT_EQ(one.gpu_seconds, 360) << "of all executions, however often they are asked";
  take_gpu_time(one, {{"gpu_hours", 0.01}}, 4, {});
  EXPECT_EQ(one.gpu_seconds, 360) << "what was used stays used";
}

TEST(SweepJson, ComesBack) {
  const Sweep sweep = example();
  const Json json = to_json(sweep);
  EXPECT_EQ(json["best"]["number"], 2);
  EXPECT_EQ(json["trials"][0]["epochs"], 3);
  EXPECT_EQ(json["trials"][1]["value"], nullptr);
  const Sweep read = read_sweep(json);
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(render_sweep(read), render_sweep(sweep));
}

TEST(SweepJson, WhatCannotBeReadIsSkipped) {
  for (const char* text :
       {"{}", R"({"trials": 3})", R"({"trials": [3, {"state": "odd"}, {"number": "x"}]})"})
    EXPECT_TRUE(read_sweep(Json::parse(text)).trials.empty()) << text;
}

TEST(SweepTable, HasTheBestFirstAndNothingThatTheTerminalWouldTakeForACommand) {
  const auto text = render_sweep(example());
  EXPECT_THAT(text, HasSubstr("job<b>: 3 of 4 trials, 1 completed, 1 stopped, 1 failed\n"));
  EXPECT_LT(text.find("\n2 "), text.find("\n0 "));
  EXPECT_LT(text.find("\n0 "), text.find("\n1 "));
  EXPECT_THAT(text, HasSubstr("lr=0.01235 batch=32"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_sweep(example(), 2), HasSubstr("and 1 more: sweep.json\n"));
}

}  // namespace
}  // namespace dllaunch
