#include "runtime/timeline/timeline_file.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

const TimelineHead head{.rank = 0, .ranks = 1, .host = "n0", .communicator = "solo", .base_ns = 1};

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TimelineSpan span_number(std::int64_t number) {
  return {.name = number % 2 == 0 ? "FORWARD" : "BACKWARD",
          .begin_ns = 1 + number * 1000,
          .end_ns = 1 + number * 1000 + 700,
          .step = number};
}

void append_from(TimelineFile& file, std::int64_t first, std::int64_t count) {
  std::vector<TimelineSpan> spans;
  for (std::int64_t i = first; i < first + count; ++i) spans.push_back(span_number(i));
  file.append(spans);
}

std::set<std::int64_t> steps_in(const std::string& path) {
  std::set<std::int64_t> steps;
  auto reader = TimelineReader::open(path);
  EXPECT_TRUE(reader);
  if (!reader) return steps;
  while (const auto span = reader->next()) EXPECT_TRUE(steps.insert(span->step).second);
  EXPECT_EQ(reader->damaged(), 0);
  return steps;
}

class TimelineFileTest : public testing::Test {
 protected:
  std::unique_ptr<TimelineFile> file(std::size_t most) {
    return std::make_unique<TimelineFile>(
        path_, head, most, [this](std::string_view line) { said_.emplace_back(line); });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/timeline/rank-00000.json";
  std::vector<std::string> said_;
};

TEST_F(TimelineFileTest, GrowsAndThenKeepsTheLatest) {
  auto timeline = file(20000);
  ASSERT_TRUE(timeline->create());
  std::uintmax_t last_size = fs::file_size(path_);
  EXPECT_LT(last_size, 400'000u);  // the size for 20,000 spans, before any is written
  std::int64_t written = 0;
  for (const std::int64_t count : {1, 1023, 1, 5000, 13975, 1, 30000, 999}) {
    append_from(*timeline, written, count);
    written += count;
    ASSERT_TRUE(Json::accept(text_of(path_))) << written;
    EXPECT_GE(fs::file_size(path_), last_size);
    last_size = fs::file_size(path_);
    const auto steps = steps_in(path_);
    ASSERT_EQ(steps.size(), static_cast<std::size_t>(std::min<std::int64_t>(written, 20000)));
    EXPECT_EQ(*steps.rbegin(), written - 1);
    EXPECT_EQ(*steps.begin(), std::max<std::int64_t>(0, written - 20000));
  }
  EXPECT_LT(last_size, 6'000'000u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() + "/timeline"), {}), 1);
  EXPECT_TRUE(said_.empty());
}

TEST_F(TimelineFileTest, HoldsOpenSpansUntilTheyEnd) {
  auto timeline = file(100);
  ASSERT_TRUE(timeline->create());
  append_from(*timeline, 1, 10);
  const std::vector<TimelineSpan> open = {span_number(500), span_number(501)};
  timeline->set_open(open);
  EXPECT_EQ(steps_in(path_).size(), 12u);
  timeline->set_open(std::span(open).first(1));
  EXPECT_EQ(steps_in(path_).size(), 11u);
  timeline->set_open({});
  append_from(*timeline, 500, 1);
  EXPECT_EQ(steps_in(path_).size(), 11u);
}

TEST_F(TimelineFileTest, KeepsTheFirstAndTheLatestClocks) {
  auto timeline = file(100);
  ASSERT_TRUE(timeline->create());
  for (std::int64_t i = 1; i <= 100; ++i)
    timeline->add_clock({.at_ns = i, .low_ns = -i, .high_ns = i});
  auto reader = TimelineReader::open(path_);
  ASSERT_TRUE(reader);
  ASSERT_EQ(reader->clock().size(), timeline_clock_slots);
  EXPECT_EQ(reader->clock()[0].at_ns, 1);
  EXPECT_EQ(reader->clock()[1].at_ns, 86);
  EXPECT_EQ(reader->clock().back().at_ns, 100);
  EXPECT_TRUE(Json::accept(text_of(path_)));
}

TEST_F(TimelineFileTest, TakesThePlaceOfAnEarlierRuns) {
  {
    auto earlier = file(5000);
    ASSERT_TRUE(earlier->create());
    append_from(*earlier, 0, 5000);
  }
  auto timeline = file(5000);
  ASSERT_TRUE(timeline->create());
  append_from(*timeline, 7, 1);
  EXPECT_EQ(steps_in(path_), (std::set<std::int64_t>{7}));
}

TEST_F(TimelineFileTest, ReportsOnceThatItCannotWrite) {
  std::ofstream(folder_.path() + "/timeline") << "a file";
  auto timeline = file(100);
  EXPECT_FALSE(timeline->create());
  EXPECT_FALSE(timeline->create());
  append_from(*timeline, 0, 10);
  timeline->set_open(std::vector{span_number(1)});
  timeline->set_counts({});
  timeline->add_clock({});
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0], "no timeline: cannot write " + path_ + ": Not a directory");
}

/// In a child process: the limit applies to the process.
TEST_F(TimelineFileTest, ADiskThatFillsUpCostsSpansOnly) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 500'000, .rlim_max = 500'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto timeline = file(20000);
    bool good = timeline->create();
    append_from(*timeline, 0, 30000);
    good = good && said_.size() == 1 && said_[0].starts_with("the timeline keeps the latest 1024");
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto steps = steps_in(path_);
  ASSERT_EQ(steps.size(), 1024u);
  EXPECT_EQ(*steps.rbegin(), 29999);
  EXPECT_TRUE(Json::accept(text_of(path_)));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() + "/timeline"), {}), 1);
}

/// Writes in a child process until it is killed.
pid_t endless_writer(const std::string& path, std::size_t most) {
  const pid_t child = fork();
  if (child != 0) return child;
  TimelineFile timeline(path, head, most, [](std::string_view) {});
  timeline.create();
  for (std::int64_t i = 0;; i += 37) {
    timeline.set_open({});
    append_from(timeline, i, 37);
    timeline.set_counts({.written = timeline.written(), .dropped = 0});
    if (i % 5 == 0) timeline.add_clock({.at_ns = i + 1, .low_ns = -i, .high_ns = i});
    timeline.set_open(std::vector{span_number(i)});
  }
}

bool has_spans(const std::string& path) {
  auto reader = TimelineReader::open(path);
  return reader && reader->next();
}

void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(TimelineFileTest, AnyKillLeavesWellFormedJson) {
  std::mt19937 random(5);
  const int kills = full_tier() ? 2000 : 200;
  int with_spans = 0;
  for (int i = 0; i < kills; ++i) {
    fs::remove(path_);
    const pid_t child = endless_writer(path_, i % 2 == 0 ? 3000 : 50);
    // Every fourth one may be killed before it has a file; the others have spans to lose.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (i % 4 != 0 && !has_spans(path_) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 15000));
    end(child);
    if (!fs::exists(path_)) continue;  // killed before it had begun
    const std::string text = text_of(path_);
    ASSERT_TRUE(Json::accept(text)) << "kill " << i;
    auto reader = TimelineReader::open(path_);
    ASSERT_TRUE(reader);
    int spans = 0;
    while (reader->next()) ++spans;
    EXPECT_LE(reader->damaged(), 1) << "kill " << i;
    with_spans += spans > 0 ? 1 : 0;
  }
  EXPECT_GT(with_spans, kills / 2);
}

TEST_F(TimelineFileTest, IsWellFormedJsonForConcurrentReaders) {
  const pid_t child = endless_writer(path_, 60);
  while (!fs::exists(path_)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const int looks = full_tier() ? 50000 : 1000;
  std::int64_t torn = 0;
  std::int64_t whole = 0;
  for (int i = 0; i < looks; ++i) {
    const std::string text = text_of(path_);
    ASSERT_TRUE(Json::accept(text)) << "look " << i;
    if (i % 10 != 0) continue;
    auto reader = TimelineReader::open(path_);
    ASSERT_TRUE(reader);
    while (reader->next()) ++whole;
    torn += reader->damaged();
  }
  end(child);
  RecordProperty("torn", static_cast<int>(torn));
  EXPECT_GT(whole, looks);
}

}  // namespace
}  // namespace dllaunch
