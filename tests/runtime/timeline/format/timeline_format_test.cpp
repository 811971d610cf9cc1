#include "runtime/timeline/format/timeline_format.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <random>

#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

const TimelineHead head{.rank = 3,
                        .ranks = 8,
                        .host = "n\"1\n",
                        .communicator = "hierarchical",
                        .base_ns = 5'000'000'000,
                        .stage = 2};

/// Mostly realistic sizes, sometimes any.
std::uint64_t some_number(std::mt19937_64& random) {
  return random() >> (random() % 64);
}

TimelineSpan some_span(std::mt19937_64& random) {
  static constexpr std::array<std::string_view, 5> names = {
      "A", "FORWARD", "WAIT_FOR_ALLREDUCE", "ALLREDUCE", "BETWEEN_STEPS_AND_MORE_THAN_FITS"};
  const auto begin = head.base_ns + static_cast<std::int64_t>(some_number(random) >> 11U);
  return {.name = names[random() % names.size()],
          .track = static_cast<int>(random() % timeline_tracks),
          .begin_ns = begin,
          .end_ns = begin + static_cast<std::int64_t>(some_number(random) >> 8U),
          .step = static_cast<std::int64_t>(some_number(random) >> 8U),
          .bytes = some_number(random) >> 1U,
          .number = some_number(random) >> 1U};
}

/// A whole file with these spans.
std::string file_of(const TimelineLayout& layout, const std::vector<TimelineSpan>& spans) {
  std::string text = layout.text();
  for (const TimelineSpan& span : spans) layout.append_span(span, text);
  return text + std::string(layout.tail());
}

std::string write(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.path() + "/rank-00003.json";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(TimelineFormat, AFileWithoutAStageIsOfNone) {
  const TemporaryFolder folder;
  std::string text = TimelineLayout(head).text();
  const std::string field = ",\"stage\":2";
  text.erase(text.find(field), field.size());
  const auto reader = TimelineReader::open(write(folder, text));
  ASSERT_TRUE(reader) << reader.error().what;
  EXPECT_EQ(reader->head().rank, 3);
  EXPECT_EQ(reader->head().stage, 0);
}

TEST(TimelineFormat, RoundTrips) {
  const TemporaryFolder folder;
  const TimelineLayout layout(head);
  std::mt19937_64 random(1);
  std::vector<TimelineSpan> spans;
  for (int i = 0; i < 2000; ++i) spans.push_back(some_span(random));
  std::string text = file_of(layout, spans);
  const auto replace = [&](std::size_t at, const std::string& by) {
    text.replace(at, by.size(), by);
  };
  replace(layout.counts_at(), TimelineLayout::counts_record({.written = 70000, .dropped = 5}));
  const std::vector<ClockBounds> clock = {
      {.at_ns = 1'000, .low_ns = -900, .high_ns = -100},
      {.at_ns = 2'000, .low_ns = 7, .high_ns = 1'234'567'890'123'456'789}};
  for (std::size_t i = 0; i < 2; ++i) {
    replace(layout.clock_at(9 - i), TimelineLayout::clock_record(clock[i]));
  }
  ASSERT_TRUE(Json::accept(text));

  auto reader = TimelineReader::open(write(folder, text));
  ASSERT_TRUE(reader) << reader.error().what;
  EXPECT_EQ(reader->head().rank, 3);
  EXPECT_EQ(reader->head().ranks, 8);
  EXPECT_EQ(reader->head().host, "n_1_");
  EXPECT_EQ(reader->head().communicator, "hierarchical");
  EXPECT_EQ(reader->head().base_ns, head.base_ns);
  EXPECT_EQ(reader->head().stage, 2);
  EXPECT_EQ(reader->counts().written, 70000u);
  EXPECT_EQ(reader->counts().dropped, 5u);
  ASSERT_EQ(reader->clock().size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reader->clock()[i].at_ns, clock[i].at_ns);
    EXPECT_EQ(reader->clock()[i].low_ns, clock[i].low_ns);
    EXPECT_EQ(reader->clock()[i].high_ns, clock[i].high_ns);
  }
  for (const TimelineSpan& span : spans) {
    const auto read = reader->next();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->name, span.name.substr(0, longest_span_name));
    EXPECT_EQ(read->track, span.track);
    EXPECT_EQ(read->begin_ns, span.begin_ns);
    EXPECT_EQ(read->end_ns, span.end_ns);
    EXPECT_EQ(read->step, span.step);
    EXPECT_EQ(read->bytes, span.bytes);
    EXPECT_EQ(read->number, span.number);
  }
  EXPECT_FALSE(reader->next());
  EXPECT_EQ(reader->damaged(), 0);
}

TEST(TimelineFormat, IsReadableByViewers) {
  const TimelineLayout layout(head);
  const TimelineSpan span{.name = "ALLREDUCE",
                          .track = 2,
                          .begin_ns = head.base_ns + 1'234'567,
                          .end_ns = head.base_ns + 2'234'567,
                          .step = 41,
                          .bytes = 1048576,
                          .number = 77};
  const auto json = Json::parse(file_of(layout, {span}));
  Json found;
  std::map<std::string, int> metadata;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] == "X") found = event;
    if (event["ph"] == "M") ++metadata[event["name"]];
  }
  EXPECT_EQ(found["name"], "ALLREDUCE         ");
  EXPECT_EQ(found["pid"], 3);
  EXPECT_EQ(found["tid"], 12);
  // Perfetto multiplies by 1000 and truncates.
  EXPECT_EQ(static_cast<std::int64_t>(found["ts"].get<double>() * 1000), 1'000'000'001'234'567);
  EXPECT_EQ(static_cast<std::int64_t>(found["dur"].get<double>() * 1000), 1'000'000);
  EXPECT_EQ(found["args"]["step"], 41);
  EXPECT_EQ(found["args"]["bytes"], 1048576);
  EXPECT_EQ(found["args"]["number"], 77);
  EXPECT_EQ(metadata["process_name"], 1);
  EXPECT_EQ(metadata["thread_name"], timeline_tracks);
}

/// What a reader may see while one record replaces another, or after a kill.
TEST(TimelineFormat, AnyMixtureOfRecordsIsWellFormed) {
  const TimelineLayout layout(head);
  std::mt19937_64 random(2);
  const auto some_record = [&] {
    std::string record;
    layout.append_span(some_span(random), record);
    return random() % 8 == 0 ? layout.blank_span() : record;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string before = some_record();
    const std::string after = some_record();
    ASSERT_EQ(before.size(), layout.span_bytes());
    ASSERT_EQ(after.size(), layout.span_bytes());
    std::string mixed;
    for (std::size_t at = 0; at < before.size(); ++at) {
      mixed += random() % 2 == 0 ? before[at] : after[at];
    }
    const std::string cut = after.substr(0, random() % after.size());
    for (const std::string& each : {mixed, cut + before.substr(cut.size())}) {
      ASSERT_TRUE(Json::accept("[" + each + "0]")) << each;
    }
  }
}

TEST(TimelineFormat, AnyMixtureOfClocksAndCountsIsWellFormed) {
  std::mt19937_64 random(3);
  const auto signed_number = [&] { return static_cast<std::int64_t>(some_number(random)); };
  const auto mixture = [&](const std::string& before, const std::string& after) {
    EXPECT_EQ(before.size(), after.size());
    std::string mixed;
    for (std::size_t at = 0; at < before.size(); ++at) {
      mixed += random() % 2 == 0 ? before[at] : after[at];
    }
    return mixed;
  };
  for (int i = 0; i < 5000; ++i) {
    const auto clock = [&] {
      return TimelineLayout::clock_record({signed_number(), -signed_number(), signed_number()});
    };
    const std::string one = mixture(clock(), clock());
    ASSERT_TRUE(Json::accept("[" + one + "0]")) << one;
    const auto counts = [&] {
      return TimelineLayout::counts_record({some_number(random), some_number(random)});
    };
    const std::string other = mixture(counts(), counts());
    ASSERT_TRUE(Json::accept("{" + other + "\"a\":0}")) << other;
  }
}

/// A mixture of two spans is not a span: its checksum does not match.
TEST(TimelineFormat, DetectsMixtures) {
  const TemporaryFolder folder;
  const TimelineLayout layout(head);
  std::mt19937_64 random(4);
  constexpr int many = 3000;
  std::string text = layout.text();
  for (int i = 0; i < many;) {
    std::string before;
    std::string after;
    layout.append_span(some_span(random), before);
    layout.append_span(some_span(random), after);
    const std::size_t cut = random() % before.size();
    const std::string mixed = after.substr(0, cut) + before.substr(cut);
    if (mixed == before || mixed == after) continue;
    text += mixed;
    ++i;
  }
  auto reader = TimelineReader::open(write(folder, text + std::string(layout.tail())));
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->next());
  EXPECT_EQ(reader->damaged(), many);
}

TEST(TimelineFormat, RejectsOtherFiles) {
  const TemporaryFolder folder;
  for (const char* text : {"", "{}", "[]", "{\"traceEvents\":[]}", "\n\n\n"}) {
    const auto reader = TimelineReader::open(write(folder, text));
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().kind, ErrorKind::bad_request);
  }
  EXPECT_EQ(TimelineReader::open(folder.path() + "/none").error().kind, ErrorKind::unavailable);
}

TEST(TimelineFormat, NamesFilesSoThatTheySortByRank) {
  EXPECT_EQ(timeline_file_name(3), "rank-00003.json");
  EXPECT_EQ(timeline_file_name(123456), "rank-123456.json");
}

}  // namespace
}  // namespace dllaunch
