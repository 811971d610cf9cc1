#include "trainer/reports/events.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <sstream>

#include "runtime/rank/run_events.hpp"
#include "support/json.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

std::vector<Json> lines_of(const std::filesystem::path& file) {
  std::vector<Json> lines;
  std::istringstream text(read_text(file));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::string keys_of(const Json& object) {
  std::string keys;
  for (const auto& [key, value] : object.items()) keys += key + " ";
  return keys;
}

TEST(Events, HaveTheFieldsOfTheContract) {
  const ScratchFolder folder;
  auto log = EventLog::open(folder / "events.jsonl");
  ASSERT_TRUE(log);
  log->start({.ranks = 2, .nodes = 1, .model = "cnn", .parameters = 5});
  log->step({.epoch = 1, .step = 3, .loss = 0.5, .lr = 0.1, .images_per_s = 100});
  log->epoch({.epoch = 1, .loss = 1, .accuracy = 0.5, .val_loss = 2, .val_accuracy = 0.25});
  log->checkpoint({.path = "checkpoints/step-00000003", .epoch = 1, .step = 3});
  log->restart("resume", "checkpoints/step-00000003", 3);
  log->stall({.state = "late", .late_ranks = {3}, .collective = "all_reduce #7", .seconds = 61});
  log->end("completed", 12.5);
  const auto lines = lines_of(folder / "events.jsonl");
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(keys_of(lines[0]),
            "time event ranks nodes model parameters global_batch epochs steps_per_epoch images "
            "val_images backend host frozen init_from communicator transport ");
  EXPECT_EQ(keys_of(lines[1]), "time event epoch step loss lr images_per_s ");
  EXPECT_EQ(keys_of(lines[2]),
            "time event epoch loss accuracy val_loss val_accuracy seconds images_per_s images "
            "val_top5_accuracy val_f1_macro val_f1_micro val_mean_absolute_error "
            "val_mean_squared_error step lr skipped ");
  EXPECT_EQ(keys_of(lines[3]), "time event path epoch step seconds_blocked seconds_total bytes ");
  EXPECT_EQ(keys_of(lines[4]), "time event reason from step ");
  EXPECT_EQ(keys_of(lines[5]), "time event state late_ranks collective seconds line ");
  EXPECT_EQ(keys_of(lines[6]), "time event status seconds ");
  EXPECT_EQ(lines[6]["status"], "completed");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_NEAR(lines[0]["time"].get<double>(), std::chrono::duration<double>(now).count(), 60);
}

std::string keys_of(const EventKind& kind) {
  std::string keys = "time event ";
  for (const EventField& field : kind.fields) {
    // The supervisor's alone: events_test.cpp of the launcher.
    if (field.name != "queue_seconds") keys += std::string(field.name) + " ";
  }
  return keys + "generation ";
}

/// Every event with every field that it may have, in the order of `dllaunch help events`.
TEST(Events, AreThoseOfTheTable) {
  const ScratchFolder folder;
  auto log = EventLog::open(folder / "events.jsonl", /*fencing_token=*/4);
  ASSERT_TRUE(log);
  log->start({});
  log->step({.tokens_per_s = 64});
  log->epoch({.tokens_per_s = 64, .loss_scale = 1024});
  log->ranks(1, {.ranks = {{.steps = 8}}, .hosts = {"n1"}});
  log->gpus(1, {.ranks = {{}}, .hosts = {"n1"}, .pci = {"0000:07:00.0"}});
  log->checkpoint({});
  log->checkpoint_failed({});
  log->checkpoint_refused("checkpoints/step-00000003", "its checksum is wrong");
  log->restart("resume", "checkpoints/step-00000003", 3);
  log->stall({});
  log->pause(25);
  log->corrupted({});
  log->end("completed", 12.5);
  const auto lines = lines_of(folder / "events.jsonl");
  ASSERT_EQ(lines.size(), run_events().size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const EventKind& kind = run_events()[i];
    EXPECT_EQ(lines[i]["event"], kind.name);
    EXPECT_EQ(keys_of(lines[i]), keys_of(kind));
  }
}

TEST(Events, EveryLineHasTheGeneration) {
  const ScratchFolder folder;
  auto log = EventLog::open(folder / "events.jsonl", /*fencing_token=*/4);
  ASSERT_TRUE(log);
  EventLog moved = *std::move(log);
  moved.start({});
  moved.step({});
  moved.stall({});
  moved.end("completed", 1);
  const auto lines = lines_of(folder / "events.jsonl");
  ASSERT_EQ(lines.size(), 4u);
  for (const auto& line : lines) EXPECT_EQ(line["generation"], 4) << line;
}

TEST(Events, AbsentAndNonFiniteValuesAreNull) {
  const ScratchFolder folder;
  auto log = EventLog::open(folder / "events.jsonl");
  log->start({});
  log->step({.loss = std::nan(""), .lr = INFINITY});
  log->epoch({});
  const auto lines = lines_of(folder / "events.jsonl");
  EXPECT_TRUE(lines[0]["nodes"].is_null());
  EXPECT_TRUE(lines[1]["loss"].is_null());
  EXPECT_TRUE(lines[1]["lr"].is_null());
  EXPECT_TRUE(lines[2]["val_loss"].is_null());
  EXPECT_TRUE(lines[2]["val_accuracy"].is_null());
}

TEST(Events, AnyNumberOfRanksFitsALine) {
  const ScratchFolder folder;
  auto log = EventLog::open(folder / "events.jsonl");
  ASSERT_TRUE(log);
  EpochRanks epoch;
  constexpr int many = 27648;
  for (int rank = 0; rank < many; ++rank) {
    epoch.ranks.push_back({.steps = 100, .data = 1, .forward = 30, .backward = 60 + rank * 1e-3});
    epoch.hosts.push_back("host-with-a-long-name-" + std::to_string(rank / 6));
    if (rank % 2 == 1) epoch.stragglers.push_back({.rank = rank, .seconds = 9, .median = 1});
  }
  log->ranks(3, epoch);
  const std::string text = read_text(folder / "events.jsonl");
  EXPECT_LT(text.size(), 8192u);
  const auto event = Json::parse(text);
  EXPECT_EQ(event["event"], "ranks");
  EXPECT_EQ(event["epoch"], 3);
  EXPECT_EQ(event["ranks"], many);
  EXPECT_EQ(event["seconds"]["data"], Json::parse("[1.0,1.0,1.0,1.0,1.0]"));
  EXPECT_EQ(event["seconds"]["backward"][4], 60 + (many - 1) * 1e-3);
  ASSERT_EQ(event["slowest"].size(), 8u);
  EXPECT_EQ(event["slowest"][0]["rank"], many - 1);
  EXPECT_EQ(event["slowest"][0]["host"], "host-with-a-long-name-4607");
  EXPECT_EQ(event["stragglers"].size(), 8u);
  EXPECT_EQ(event["stragglers_total"], many / 2);
  EXPECT_EQ(event["notes"].size(), 4u);

  log->ranks(4, {});  // from a rank other than 0
  EXPECT_EQ(read_text(folder / "events.jsonl"), text);
}

TEST(Events, AreAppended) {
  const ScratchFolder folder;
  for (int run = 0; run < 3; ++run) {
    auto log = EventLog::open(folder / "events.jsonl");
    EventLog moved;
    moved = *std::move(log);
    moved.end("completed", run);
  }
  EXPECT_EQ(lines_of(folder / "events.jsonl").size(), 3u);
}

TEST(Events, AnyTextIsWrittenAsJson) {
  const ScratchFolder folder;
  auto log = EventLog::open(folder / "events.jsonl");
  log->restart("line\nbreak \"quoted\"", "not UTF-8: \xff", 0);
  EXPECT_EQ(lines_of(folder / "events.jsonl")[0]["reason"], "line\nbreak \"quoted\"");
}

TEST(Events, ADefaultLogDiscardsEverything) {
  EventLog().end("completed", 1);
  EXPECT_FALSE(EventLog::open("/nowhere/events.jsonl"));
}

TEST(Events, TrainingContinuesOnAFullDisk) {
  auto log = EventLog::open("/dev/full");
  if (!log) GTEST_SKIP() << "no /dev/full";
  testing::internal::CaptureStderr();
  log->end("completed", 1);
  log->end("completed", 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "dltrain: warning: events.jsonl loses events: No space left on device\n");
}

}  // namespace
}  // namespace dllaunch
