#include "runtime/timeline/timeline.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<TimelineSpan> spans_in(const std::string& path) {
  std::vector<TimelineSpan> spans;
  auto reader = TimelineReader::open(path);
  if (!reader) return spans;
  static std::map<std::string, int> names;
  while (auto span = reader->next()) {
    span->name = names.try_emplace(std::string(span->name)).first->first;
    spans.push_back(*span);
  }
  return spans;
}

std::map<std::string_view, int> count_by_name(const std::vector<TimelineSpan>& spans) {
  std::map<std::string_view, int> counts;
  for (const TimelineSpan& span : spans) ++counts[span.name];
  return counts;
}

class TimelineTest : public testing::Test {
 protected:
  TimelineOptions options(std::size_t most = 10000) {
    return {.path = path_,
            .head = {.rank = 0, .ranks = 1, .host = "n0", .communicator = "solo", .base_ns = 1},
            .most_spans = most,
            .warn = [this](std::string_view line) { said_.emplace_back(line); }};
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/timeline/rank-00000.json";
  std::vector<std::string> said_;
};

void one_step(Activity& activity, std::int64_t step) {
  activity.enter(RankPhase::forward);
  activity.enter(RankPhase::backward);
  const std::int64_t begin = monotonic_ns();
  const std::uint64_t number = activity.begin_collective();
  activity.enter(RankPhase::reduce);
  activity.end_collective(
      {.number = number, .kind = CollectiveKind::all_reduce, .bytes = 4096, .begin_ns = begin},
      number);
  activity.enter(RankPhase::between);
  activity.set_step(step + 1);
}

TEST_F(TimelineTest, KeepsEachPhaseAndCollective) {
  Activity activity;
  {
    Timeline timeline(options(), activity);
    activity.tell(&timeline);
    timeline.start();
    for (int step = 0; step < 100; ++step) one_step(activity, step);
    timeline.add_clock({.at_ns = 5, .low_ns = -3, .high_ns = 3});
    activity.tell(nullptr);
    EXPECT_EQ(timeline.dropped(), 0u);
  }
  const auto spans = spans_in(path_);
  EXPECT_EQ(count_by_name(spans), (std::map<std::string_view, int>{{"START", 1},
                                                                   {"FORWARD", 100},
                                                                   {"BACKWARD", 100},
                                                                   {"WAIT_FOR_ALLREDUCE", 100},
                                                                   {"BETWEEN_STEPS", 99},
                                                                   {"ALLREDUCE", 100}}));
  for (const TimelineSpan& span : spans) {
    EXPECT_LE(span.begin_ns, span.end_ns);
    if (span.name != "ALLREDUCE") continue;
    EXPECT_EQ(span.number, static_cast<std::uint64_t>(span.step) + 1);
    EXPECT_EQ(span.bytes, 4096u);
    EXPECT_GT(span.track, 0);
  }
  auto reader = TimelineReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->clock().size(), 1u);
  EXPECT_EQ(reader->counts().written, 500u);
}

TEST_F(TimelineTest, ConcurrentCollectivesHaveSeparateTracks) {
  Activity activity;
  {
    Timeline timeline(options(), activity);
    activity.tell(&timeline);
    timeline.start();
    // Three that overlap, in the order in which they end; then one alone.
    const std::int64_t t = monotonic_ns();
    const auto end = [&](std::uint64_t number, std::int64_t begin_ns, std::int64_t end_ns) {
      timeline.collective_ended(
          {.number = number, .bytes = 1, .begin_ns = begin_ns, .end_ns = end_ns});
    };
    end(1, t, t + 50);
    end(3, t + 20, t + 60);
    end(2, t + 10, t + 90);
    end(4, t + 90, t + 95);
    activity.tell(nullptr);
  }
  std::map<std::uint64_t, int> track_of;
  for (const TimelineSpan& span : spans_in(path_)) track_of[span.number] = span.track;
  EXPECT_EQ(track_of[1], 1);
  EXPECT_EQ(track_of[3], 2);
  EXPECT_EQ(track_of[2], 3);
  EXPECT_EQ(track_of[4], 1);
}

TEST_F(TimelineTest, PhasesCarryTheirMicroBatchAndCollectivesTheirScope) {
  Activity activity;
  {
    auto staged = options();
    staged.head.ranks = 4;
    staged.head.stage = 2;
    Timeline timeline(staged, activity);
    activity.tell(&timeline);
    timeline.start();
    for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
      activity.enter(RankPhase::pipeline, micro_batch);
      activity.begin_wait_for(0);
      activity.end_wait();
      activity.enter(RankPhase::forward, micro_batch);
    }
    activity.enter(RankPhase::update);
    activity.enter(RankPhase::between);
    timeline.collective_ended(
        {.scope = CollectiveScope::group, .number = 5, .begin_ns = 1, .end_ns = 2});
    activity.tell(nullptr);
  }
  auto reader = TimelineReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->head().stage, 2);
  std::map<std::string, std::vector<std::uint64_t>> numbers;
  for (const TimelineSpan& span : spans_in(path_)) {
    numbers[std::string(span.name)].push_back(span.number);
  }
  EXPECT_EQ(numbers["WAIT_FOR_STAGE"], (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(numbers["FORWARD"], (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(numbers["UPDATE"], std::vector<std::uint64_t>{0});
  EXPECT_EQ(numbers["BARRIER"], std::vector<std::uint64_t>{first_group_collective + 5});
}

TEST_F(TimelineTest, StartsAndStopsByCallAndBySwitch) {
  Activity activity;
  std::atomic<unsigned> switches{0};
  {
    auto with_switch = options();
    with_switch.switches = &switches;
    Timeline timeline(with_switch, activity);
    activity.tell(&timeline);
    one_step(activity, 0);
    EXPECT_FALSE(fs::exists(path_));
    timeline.start();
    EXPECT_TRUE(timeline.running());
    one_step(activity, 1);
    timeline.stop();
    one_step(activity, 2);
    ++switches;
    one_step(activity, 3);
    EXPECT_TRUE(timeline.running());
    ++switches;
    one_step(activity, 4);
    EXPECT_FALSE(timeline.running());
    switches += 2;  // on and off again before the next look
    one_step(activity, 5);
    EXPECT_FALSE(timeline.running());
    // The writing thread sleeps when idle, and must wake up.
    std::this_thread::sleep_for(250ms);
    ++switches;
    one_step(activity, 6);
    activity.tell(nullptr);
  }
  std::map<std::int64_t, int> collectives;
  for (const TimelineSpan& span : spans_in(path_)) {
    if (span.name == "ALLREDUCE") ++collectives[span.step];
  }
  EXPECT_EQ(collectives, (std::map<std::int64_t, int>{{1, 1}, {3, 1}, {6, 1}}));
  EXPECT_TRUE(Json::accept(text_of(path_)));
}

TEST_F(TimelineTest, SpansThatComeTooFastAreDroppedAndCounted) {
  Activity activity;
  std::uint64_t dropped = 0;
  constexpr int many = 300000;
  {
    Timeline timeline(options(1000), activity);
    timeline.start();
    for (int i = 0; i < many; ++i) timeline.phase_ended(RankPhase::forward, -1, i + 1, i + 2);
    dropped = timeline.dropped();
  }
  auto reader = TimelineReader::open(path_);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->counts().dropped, dropped);
  EXPECT_EQ(reader->counts().written + dropped, static_cast<std::uint64_t>(many));
  EXPECT_EQ(spans_in(path_).size(), 1000u);
}

TEST_F(TimelineTest, RecordsWhatARankIsStuckIn) {
  Activity activity;
  Timeline timeline(options(), activity);
  activity.tell(&timeline);
  timeline.start();
  one_step(activity, 0);
  activity.enter(RankPhase::reduce);
  const std::uint64_t number = activity.begin_collective();
  activity.begin_wait(CollectiveScope::world, number, CollectiveKind::all_reduce, 1234);
  std::map<std::string_view, int> counts;
  for (int i = 0; i < 3000 && counts["WAIT_FOR_ALLREDUCE"] < 2; ++i) {
    std::this_thread::sleep_for(20ms);
    counts = count_by_name(spans_in(path_));
  }
  EXPECT_EQ(counts["WAIT_FOR_ALLREDUCE"], 2);
  EXPECT_EQ(counts["ALLREDUCE"], 2);
  for (const TimelineSpan& span : spans_in(path_)) {
    if (span.number != number) continue;
    EXPECT_EQ(span.track, 0);
    EXPECT_EQ(span.bytes, 1234u);
    EXPECT_GT(span.end_ns, span.begin_ns);
  }
  activity.tell(nullptr);
}

TEST_F(TimelineTest, TrainingContinuesWithoutADisk) {
  std::ofstream(folder_.path() + "/timeline") << "a file";
  Activity activity;
  {
    Timeline timeline(options(), activity);
    activity.tell(&timeline);
    timeline.start();
    for (int i = 0; i < 6000 && timeline.running(); ++i) {
      one_step(activity, i);
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_FALSE(timeline.running());
    one_step(activity, 6000);
    activity.tell(nullptr);
  }
  ASSERT_EQ(said_.size(), 1u);
}

/// With all threads, killed at any moment.
TEST_F(TimelineTest, AKilledRankLeavesWellFormedJson) {
  std::mt19937 random(6);
  const int kills = full_tier() ? 300 : 20;
  for (int i = 0; i < kills; ++i) {
    fs::remove(path_);
    const pid_t child = fork();
    if (child == 0) {
      Activity activity;
      Timeline timeline(options(500), activity);
      activity.tell(&timeline);
      timeline.start();
      for (int step = 0;; ++step) {
        one_step(activity, step);
        if (step % 100 == 0) std::this_thread::sleep_for(1ms);
      }
    }
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (spans_in(path_).size() <= 100 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(5ms);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    ASSERT_TRUE(Json::accept(text_of(path_))) << "kill " << i;
    EXPECT_GT(spans_in(path_).size(), 100u);
  }
}

TEST(TimelineNames, FitTheirPlace) {
  for (std::size_t i = 0; i < phases; ++i) {
    const auto name = span_name(static_cast<RankPhase>(i));
    EXPECT_FALSE(name.empty());
    EXPECT_LE(name.size(), longest_span_name) << name;
  }
}

}  // namespace
}  // namespace dllaunch
