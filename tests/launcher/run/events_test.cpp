#include "launcher/run/events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "runtime/rank/run_events.hpp"
#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(Events, ReadsEveryKind) {
  const auto start = parse_event(
      R"({"time": 1.5, "event": "start", "ranks": 4, "nodes": null, "model": "cnn",
          "parameters": 1199882, "global_batch": 128, "epochs": 3, "steps_per_epoch": 469,
          "frozen": 1000, "init_from": "/w.safetensors"})");
  ASSERT_TRUE(start && std::holds_alternative<StartEvent>(*start));
  EXPECT_EQ(std::get<StartEvent>(*start).ranks, 4);
  EXPECT_FALSE(std::get<StartEvent>(*start).nodes);
  EXPECT_EQ(std::get<StartEvent>(*start).steps_per_epoch, 469);
  EXPECT_EQ(std::get<StartEvent>(*start).frozen, 1000);
  EXPECT_EQ(std::get<StartEvent>(*start).init_from, "/w.safetensors");
  EXPECT_EQ(time_of(*start), 1.5);

  const auto step = parse_event(
      R"({"time":2,"event":"step","epoch":1,"step":7,"loss":0.5,"lr":0.1,"images_per_s":10.5})");
  ASSERT_TRUE(step && std::holds_alternative<StepEvent>(*step));
  EXPECT_EQ(std::get<StepEvent>(*step).loss, 0.5);

  const auto epoch = parse_event(
      R"({"time":3,"event":"epoch","epoch":1,"loss":0.4,"accuracy":0.9,"val_loss":null,
          "val_accuracy":null,"seconds":12,"images_per_s":500,"images":6000})");
  ASSERT_TRUE(epoch && std::holds_alternative<EpochEvent>(*epoch));
  EXPECT_FALSE(std::get<EpochEvent>(*epoch).val_accuracy);
  EXPECT_EQ(std::get<EpochEvent>(*epoch).images, 6000);

  const auto ranks = parse_event(
      R"({"time":4,"event":"ranks","epoch":2,"notes":["rank 3 on n1: late",7],"seconds":{}})");
  ASSERT_TRUE(ranks && std::holds_alternative<RanksEvent>(*ranks));
  EXPECT_EQ(std::get<RanksEvent>(*ranks).epoch, 2);
  EXPECT_EQ(std::get<RanksEvent>(*ranks).notes, (std::vector<std::string>{"rank 3 on n1: late"}));
  const auto stall = parse_event(
      R"({"time":4,"event":"stall","late_ranks":[1,3],"collective":"all_reduce","seconds":60})");
  ASSERT_TRUE(stall && std::holds_alternative<StallEvent>(*stall));
  EXPECT_EQ(std::get<StallEvent>(*stall).late_ranks, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(std::get<StallEvent>(*stall).line, "");
  const auto told = parse_event(
      R"({"time":4,"event":"stall","state":"over","late_ranks":[],"collective":null,"line":"on"})");
  ASSERT_TRUE(told && std::holds_alternative<StallEvent>(*told));
  EXPECT_EQ(std::get<StallEvent>(*told).state, "over");
  EXPECT_EQ(std::get<StallEvent>(*told).line, "on");

  for (const char* kind :
       {"checkpoint", "checkpoint_failed", "checkpoint_refused", "restart", "end"}) {
    EXPECT_TRUE(parse_event(std::string(R"({"time":5,"event":")") + kind + "\"}")) << kind;
  }
}

TEST(Events, CarryTheGenerationOfTheirLife) {
  const auto fencing_token = [](const std::string& rest) {
    return fencing_token_of(parse_event(R"({"time":5,"event":"step")" + rest + "}").value());
  };
  EXPECT_EQ(fencing_token(R"(,"generation":3)"), 3);
  for (const char* none : {"", R"(,"generation":null)", R"(,"generation":"3")",
                           R"(,"generation":-3)", R"(,"generation":3.5)"}) {
    EXPECT_EQ(fencing_token(none), 0) << none;
  }
  const auto restart =
      parse_event(R"({"time":5,"event":"restart","reason":"time limit","from":"c","step":7,)"
                  R"("queue_seconds":2.5,"generation":9})");
  EXPECT_EQ(std::get<RestartEvent>(*restart).step, 7);
  EXPECT_EQ(std::get<RestartEvent>(*restart).queue_seconds, 2.5);
  EXPECT_EQ(fencing_token_of(*restart), 9);
  EXPECT_EQ(std::get<EpochEvent>(*parse_event(R"({"time":5,"event":"epoch","step":8})")).step, 8);
}

TEST(Events, ARestartIsALineThatIsReadBack) {
  const std::string line = restart_line({.time = 5.5,
                                         .reason = "rank 3 \xff \"died\"\nof it",
                                         .queue_seconds = 2.5,
                                         .fencing_token = 4});
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto event = parse_event(line);
  ASSERT_TRUE(event);
  const auto& restart = std::get<RestartEvent>(*event);
  EXPECT_EQ(restart.time, 5.5);
  EXPECT_EQ(restart.reason, "rank 3 \xef\xbf\xbd \"died\"\nof it");
  EXPECT_EQ(restart.from, "");
  EXPECT_FALSE(restart.step);
  EXPECT_EQ(restart.queue_seconds, 2.5);
  EXPECT_EQ(restart.fencing_token, 4);
  EXPECT_EQ(restart_line({.time = 1, .reason = "r", .from = "c", .step = 7}),
            R"({"time":1.0,"event":"restart","reason":"r","from":"c","step":7,)"
            R"("queue_seconds":null})"
            "\n");
}

/// events_test.cpp of the trainer holds the other lines to the table.
TEST(Events, AreThoseOfTheTable) {
  for (const EventKind& kind : run_events()) {
    const std::string line = R"({"time":5,"event":")" + std::string(kind.name) + "\"}";
    // Only TensorBoard and people read about GPUs; of wrong numbers the supervisor's journal tells.
    const bool read = kind.name != "gpus" && kind.name != "corrupted";
    EXPECT_EQ(parse_event(line).has_value(), read) << line;
    if (kind.name != "restart") continue;
    std::vector<std::string_view> expected = {"time", "event"};
    for (const EventField& field : kind.fields) expected.push_back(field.name);
    expected.push_back("generation");
    std::vector<std::string_view> keys;
    const Json written = Json::parse(restart_line({.fencing_token = 4}));
    for (const auto& [key, value] : written.items()) keys.push_back(key);
    EXPECT_EQ(keys, expected);
  }
}

TEST(Events, PassesOverWhatIsNone) {
  for (const char* line :
       {"", "{", "null", "[1]", "garbage", R"({"event":"step"})", R"({"time":"now","event":"end"})",
        R"({"time":1,"event":"from_the_future"})", R"({"time":1})",
        R"({"time":1e999,"event":"end"})", "{\"time\":1,\"event\":\"end\",\"status\":\"\xff\"}"}) {
    EXPECT_FALSE(parse_event(line)) << line;
  }
}

TEST(Events, WrongTypesAreAbsentValues) {
  const auto step = parse_event(R"({"time":1,"event":"step","epoch":"two","step":1.5,"loss":[]})");
  ASSERT_TRUE(step);
  EXPECT_EQ(std::get<StepEvent>(*step).epoch, 0);
  EXPECT_FALSE(std::get<StepEvent>(*step).loss);
}

TEST(Events, AnyBytesAreSurvived) {
  const std::string good =
      R"({"time":2,"event":"step","epoch":1,"step":7,"loss":0.5,"lr":0.1,"images_per_s":10.5})";
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string line = good;
    for (auto i = 1 + random() % 4; i > 0; --i) {
      const auto at = random() % line.size();
      if (random() % 3 == 0) {
        line.erase(at);
        if (line.empty()) line = "{";
      } else {
        line[at] = static_cast<char>(random() % 256);
      }
    }
    parse_event(line);
  }
}

TEST(Events, TailGoesOnAfterALineThatWasCut) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  std::ofstream(path) << R"({"time":1,"event":"epo)";
  EventTail tail(path);
  EXPECT_TRUE(tail.read().empty());
  tail.drop_rest();
  std::ofstream(path, std::ios::app) << "\n"
                                     << R"({"time":2,"event":"end","status":"completed"})"
                                     << "\n";
  const auto events = tail.read();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<EndEvent>(events[0]).status, "completed");
}

}  // namespace
}  // namespace dllaunch
