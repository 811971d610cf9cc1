#include "launcher/timeline/timeline_merge.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/timeline/format/timeline_format.hpp"
#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Two nodes; the second's clock is `ahead_ns` ahead of rank 0's.
class TimelineMergeTest : public testing::Test {
 protected:
  static constexpr std::int64_t ahead_ns = 5'000'000'000;
  static constexpr std::int64_t base_ns = 1'000'000'000;

  std::string file(int rank) const { return folder_.path() + "/" + timeline_file_name(rank); }

  /// `spans` with times of rank 0's clock.
  void write(int rank, std::vector<TimelineSpan> spans, int stage = 0) {
    const std::int64_t ahead = rank == 1 ? ahead_ns : 0;
    const TimelineLayout layout({.rank = rank,
                                 .ranks = 2,
                                 .host = "n" + std::to_string(rank),
                                 .communicator = "hierarchical",
                                 .base_ns = base_ns + ahead,
                                 .stage = stage});
    std::string text = layout.text();
    text.replace(
        layout.clock_at(0), TimelineLayout::clock_bytes(),
        TimelineLayout::clock_record(
            {.at_ns = base_ns + ahead, .low_ns = -ahead - 7000, .high_ns = -ahead + 7000}));
    const auto counts = TimelineLayout::counts_record({.written = spans.size() + 30, .dropped = 4});
    text.replace(layout.counts_at(), counts.size(), counts);
    for (TimelineSpan span : spans) {
      span.begin_ns += base_ns + ahead;
      span.end_ns += base_ns + ahead;
      layout.append_span(span, text);
    }
    std::ofstream(file(rank), std::ios::binary) << text << layout.tail();
  }

  Result<MergedTimeline> merge(const std::optional<IdSet>& ranks = {}) {
    return merge_timelines(folder_.path(), ranks, output_);
  }

  const TemporaryFolder folder_;
  const std::string output_ = folder_.path() + "/merged.json";
};

const TimelineSpan forward{
    .name = "FORWARD", .begin_ns = 1'000'000, .end_ns = 4'000'000, .step = 9};

TEST_F(TimelineMergeTest, PutsAllRanksOnOneClock) {
  write(0, {forward});
  write(1, {forward});
  const auto merged = merge();
  ASSERT_TRUE(merged) << merged.error().what;
  EXPECT_EQ(merged->spans, 2u);
  EXPECT_EQ(merged->hosts, 2);
  EXPECT_EQ(merged->clock_error_ns, 7000);
  EXPECT_EQ(merged->dropped, 8u);
  EXPECT_EQ(merged->overwritten, 60u);
  EXPECT_EQ(merged->first_step, 10);
  EXPECT_EQ(merged->last_step, 10);
  EXPECT_DOUBLE_EQ(merged->seconds, 0.003);
  EXPECT_DOUBLE_EQ(merged->phase_seconds.at("FORWARD"), 0.006);

  const Json trace = Json::parse(text_of(output_));
  std::map<std::string, std::string> names;
  int spans = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") names[event["pid"].dump()] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    ++spans;
    EXPECT_EQ(event["name"], "FORWARD");
    EXPECT_EQ(std::floor(event["ts"].get<double>() * 1000), 0);
    EXPECT_EQ(std::floor(event["dur"].get<double>() * 1000), 3'000'000);
    EXPECT_EQ(event["args"]["step"], 10);
  }
  EXPECT_EQ(spans, 2);
  EXPECT_EQ(names,
            (std::map<std::string, std::string>{{"0", "rank 0 on n0"}, {"1", "rank 1 on n1"}}));
}

TEST_F(TimelineMergeTest, ShowsEachMicroBatchOfAPipelinesStage) {
  TimelineSpan second = forward;
  second.number = 2;
  TimelineSpan gradients{.name = "ALLREDUCE",
                         .track = 1,
                         .begin_ns = 1'000'000,
                         .end_ns = 9'000'000,
                         .number = first_group_collective + 7};
  write(0, {second, gradients}, 1);
  second.name = "WAIT_FOR_STAGE";
  write(1, {second, gradients}, 2);
  const auto merged = merge();
  ASSERT_TRUE(merged);
  EXPECT_DOUBLE_EQ(merged->phase_seconds.at("FORWARD"), 0.003);
  EXPECT_DOUBLE_EQ(merged->phase_seconds.at("WAIT_FOR_STAGE"), 0.003);
  const Json trace = Json::parse(text_of(output_));
  std::map<std::string, Json> found;
  for (const Json& event : trace["traceEvents"]) {
    const bool of_process = event["name"] == "process_name";
    if (event["ph"] == "X" || of_process) found[event["name"]] = event["args"];
  }
  EXPECT_EQ(found["FORWARD 2"], Json({{"step", 10}, {"micro_batch", 2}, {"stage", 1}}));
  EXPECT_EQ(found["WAIT_FOR_STAGE 2"], Json({{"step", 10}, {"micro_batch", 2}, {"stage", 2}}));
  EXPECT_EQ(found["process_name"]["name"], "rank 1 on n1, stage 2");
  // Other ranks have collectives of the same number.
  EXPECT_EQ(found["ALLREDUCE"]["number"], 7);
  EXPECT_EQ(text_of(output_).find("NEGOTIATE"), std::string::npos);
}

TEST_F(TimelineMergeTest, SaysWhichRankACollectiveWaitedFor) {
  TimelineSpan reduce{.name = "ALLREDUCE",
                      .track = 1,
                      .begin_ns = 1'000'000,
                      .end_ns = 9'000'000,
                      .step = 9,
                      .bytes = 4096,
                      .number = 77};
  TimelineSpan only_here = reduce;
  only_here.number = 78;
  write(0, {reduce, only_here});
  reduce.begin_ns = 6'000'000;
  write(1, {reduce});
  ASSERT_TRUE(merge());
  const Json trace = Json::parse(text_of(output_));
  std::map<std::string, Json> of_rank0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["pid"] == 0) of_rank0[event["name"]] = event;
  }
  ASSERT_EQ(of_rank0.size(), 3u);
  EXPECT_EQ(of_rank0["ALLREDUCE"]["args"]["bytes"], 4096);
  const auto us = [&](const char* name, const char* key) {
    return std::floor(of_rank0[name][key].get<double>());
  };
  EXPECT_EQ(us("NEGOTIATE_ALLREDUCE", "ts"), 0);
  EXPECT_EQ(us("NEGOTIATE_ALLREDUCE", "dur"), 5000);
  EXPECT_EQ(of_rank0["NEGOTIATE_ALLREDUCE"]["args"]["last"], "rank 1 on n1");
  EXPECT_EQ(us("HIERARCHICAL_ALLREDUCE", "ts"), 5000);
  EXPECT_EQ(us("HIERARCHICAL_ALLREDUCE", "dur"), 3000);
}

TEST_F(TimelineMergeTest, DoesNotSayWhoCameLastWhereARankIsMissing) {
  const TimelineSpan reduce{
      .name = "ALLREDUCE", .track = 1, .begin_ns = 1'000'000, .end_ns = 9'000'000, .number = 77};
  write(0, {reduce});  // of two
  ASSERT_TRUE(merge());
  EXPECT_EQ(text_of(output_).find("NEGOTIATE"), std::string::npos);
}

TEST_F(TimelineMergeTest, TakesOnlyTheRanksThatAreAskedFor) {
  write(0, {forward});
  write(1, {forward, forward});
  const auto merged = merge(IdSet{1});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->spans, 2u);
  EXPECT_EQ(to_list(merged->ranks), "1");
  const auto none = merge(IdSet{5});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "no timeline of rank 5 in " + folder_.path());
}

TEST_F(TimelineMergeTest, LeavesNothingBehindWhereItCannotWrite) {
  write(0, {forward});
  const auto merged = merge_timelines(folder_.path(), {}, folder_.path() + "/none/merged.json");
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().kind, ErrorKind::unavailable);
  const auto full = merge_timelines(folder_.path(), {}, "/dev/full/x");
  EXPECT_FALSE(full);
  // In the way of the name itself.
  std::filesystem::create_directories(output_ + "/x");
  EXPECT_FALSE(merge());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(TimelineMergeTest, IsToldInWords) {
  write(0, {forward});
  write(1, {forward});
  std::ofstream(folder_.path() + "/rank-00009.json") << "{}";
  auto merged = merge();
  ASSERT_TRUE(merged);
  merged->output = "run/timeline.json";
  merged->bytes = 1'234'567;
  EXPECT_EQ(render_merged(*merged),
            "run/timeline.json: 2 of 2 ranks, 2 spans in 0.003 s, 1.2 MB\n  open it in "
            "https://ui.perfetto.dev or chrome://tracing; both read it in your browser\n  steps    "
            "  10 to 10: FORWARD 100 %\n  clocks     of 2 hosts, aligned to within 7 us\n  older   "
            "   60 spans: the files keep the latest\n  dropped    8 spans, recorded faster than "
            "they could be written\n  left out   rank-00009.json: no timeline of a rank\n");
  EXPECT_EQ(to_json(*merged)["left_out"].size(), 1u);
}

/// Whatever became of the files: a trace that is JSON, or an error.
TEST_F(TimelineMergeTest, DamagedFilesNeverMakeADamagedTrace) {
  std::vector<TimelineSpan> spans;
  for (int i = 0; i < 50; ++i) {
    spans.push_back(forward);
    spans.back().number = static_cast<std::uint64_t>(i);
    spans.back().track = i % 3;
  }
  write(0, spans);
  write(1, spans);
  const std::string whole = text_of(file(1));
  std::mt19937 random(1);
  for (int i = 0; i < rounds_here(500); ++i) {
    std::string damaged = whole;
    for (unsigned j = 0; j < 1 + random() % 20; ++j) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    std::ofstream(file(1), std::ios::binary) << damaged;
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().what;
    ASSERT_TRUE(Json::accept(text_of(output_))) << i;
    EXPECT_GE(merged->spans, 50u);
  }
}

}  // namespace
}  // namespace dllaunch
