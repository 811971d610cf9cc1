#include "launcher/sweep/optuna_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<Parameter> space() {
  return *read_space({.parameters = Json::parse(
                          R"({"lr": {"log": [0.001, 0.1]}, "n": {"int": [1, 8]},
                              "c": {"choice": ["a", 2, null, true]}})")});
}

Trial trial(int number) {
  Trial one{.number = number, .target = 3, .run = "trial-" + std::to_string(number)};
  one.parameters = {{"lr", 0.01}, {"n", 4}, {"c", nullptr}};
  return one;
}

std::vector<std::string> history() {
  Trial first = trial(0);
  std::vector<std::string> lines = {
      study_record("job", false).dump(), trial_record(space(), first, 0, 1e9).dump(),
      trial_record(space(), trial(1), 0, 1e9).dump(), value_record(0, 1, 0.5).dump(),
      value_record(0, 3, 0.75).dump()};
  first.state = TrialState::completed;
  first.values = {{1, 0.5}, {3, 0.75}};
  first.gpu_seconds = 2.5;
  first.log_from = {{"rank-0000-n1.log", 12}};
  first.judged = "job 7";
  lines.push_back(own_record(0, first).dump());
  lines.push_back(end_record(0, first, 1e9).dump());
  return lines;
}

TEST(OptunaRecords, AreWhatTheyWere) {
  OptunaReplay replay("job");
  for (const auto& line : history()) replay.take(line);
  ASSERT_TRUE(replay.has_study());
  ASSERT_EQ(replay.trials().size(), 2U);
  const Trial& first = replay.trials()[0];
  EXPECT_EQ(first.parameters, trial(0).parameters);
  EXPECT_EQ(first.state, TrialState::completed);
  EXPECT_THAT(first.values, ElementsAre(Pair(1, 0.5), Pair(3, 0.75)));
  EXPECT_EQ(first.gpu_seconds, 2.5);
  EXPECT_THAT(first.log_from, ElementsAre(Pair("rank-0000-n1.log", 12)));
  EXPECT_EQ(first.judged, "job 7");
  EXPECT_EQ(replay.trials()[1].state, TrialState::running);
  EXPECT_EQ(replay.trials()[1].target, 3);
  EXPECT_TRUE(replay.ended(0));
  EXPECT_FALSE(replay.ended(1));
}

/// As Optuna 5.0 wrote it, with a queued trial of its dashboard and another study in the file.
TEST(OptunaRecords, OfOptunaItselfAreRead) {
  OptunaReplay replay("job");
  const std::string choices = R"("{\"name\": \"CategoricalDistribution\", )"
                              R"(\"attributes\": {\"choices\": [32, \"a\", null]}}")";
  const std::string whole =
      R"("{\"name\": \"IntDistribution\", \"attributes\": {\"low\": 1, \"high\": 8}}")";
  const std::string moment = R"("2026-11-26T13:13:49+00:00")";
  const std::string parameter = R"({"op_code":5,"trial_id":1,"param_name":)";
  for (const std::string& line :
       {std::string(R"({"op_code":0,"worker_id":"w","study_name":"other","directions":[1]})"),
        R"({"op_code":4,"worker_id":"w","study_id":0,"datetime_start":)" + moment + "}",
        std::string(R"({"op_code":0,"worker_id":"w","study_name":"job","directions":[2]})"),
        R"({"op_code":4,"worker_id":"w","study_id":1,"datetime_start":)" + moment + "}",
        parameter + R"("c","param_value_internal":2,"distribution":)" + choices + "}",
        parameter + R"("u","param_value_internal":3.0,"distribution":)" + whole + "}",
        std::string(R"({"op_code":7,"trial_id":1,"step":2,"intermediate_value":NaN})"),
        std::string(R"({"op_code":7,"trial_id":1,"step":1,"intermediate_value":0.5})"),
        R"({"op_code":6,"trial_id":1,"state":2,"values":[0.5],"datetime_complete":)" + moment + "}",
        std::string(R"({"op_code":7,"trial_id":1,"step":9,"intermediate_value":0.9})")})
    replay.take(line);
  ASSERT_EQ(replay.trials().size(), 1U);
  EXPECT_EQ(replay.id_of(0), 1);
  EXPECT_EQ(replay.study_id(), 1);
  EXPECT_EQ(replay.trials()[0].parameters, Json::parse(R"({"c": null, "u": 3})"));
  EXPECT_EQ(replay.trials()[0].state, TrialState::stopped);
  EXPECT_THAT(replay.trials()[0].values, ElementsAre(Pair(1, 0.5)));
}

/// A damaged file may lose trials, and nothing else happens.
TEST(OptunaRecords, AnyDamageIsRead) {
  std::mt19937 random(1);
  for (int round = 0; round < rounds_here(2000); ++round) {
    OptunaReplay replay("job");
    for (std::string line : history()) {
      for (int flips = static_cast<int>(random() % 4); flips > 0; --flips)
        line[random() % line.size()] = static_cast<char>(random());
      replay.take(line.substr(0, random() % 8 == 0 ? random() % line.size() : line.size()));
    }
    for (std::size_t i = 0; i < replay.trials().size(); ++i)
      EXPECT_EQ(replay.trials()[i].number, static_cast<int>(i));
  }
}

TEST(OptunaRecords, TimesAreIso) {
  EXPECT_EQ(iso_time(1795697216.25), "2026-11-26T12:46:56.250000+00:00");
}

}  // namespace
}  // namespace dllaunch
