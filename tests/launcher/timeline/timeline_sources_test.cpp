#include "launcher/timeline/timeline_sources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

class TimelineSourcesTest : public testing::Test {
 protected:
  void write(int rank, int ranks, const std::string& host, std::vector<ClockBounds> clock,
             std::string name = "") {
    const TimelineLayout layout(
        {.rank = rank, .ranks = ranks, .host = host, .communicator = "mpi", .base_ns = 1});
    std::string text = layout.text();
    for (std::size_t i = 0; i < clock.size(); ++i) {
      text.replace(layout.clock_at(i), TimelineLayout::clock_bytes(),
                   TimelineLayout::clock_record(clock[i]));
    }
    write_text(name.empty() ? timeline_file_name(rank) : name, text + std::string(layout.tail()));
  }
  void write_text(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  void make_older(const std::string& name) {
    const auto path = folder_.path() + "/" + name;
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) - std::chrono::hours(1));
  }
  const TemporaryFolder folder_;
};

TEST_F(TimelineSourcesTest, AreTheRanksInOrder) {
  write(2, 3, "n1", {{10, -5, 5}});
  write(0, 3, "n0", {{10, 0, 0}});
  write(1, 3, "n0", {{10, 0, 0}});
  write_text("notes.txt", "");
  write_text(".rank-00001.json", "half a file");
  const auto found = find_timelines(folder_.path());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->ranks.size(), 3u);
  EXPECT_EQ(found->ranks[0].name(), "rank 0 on n0");
  EXPECT_EQ(found->ranks[2].name(), "rank 2 on n1");
  EXPECT_THAT(found->left_out, ElementsAre());
}

TEST_F(TimelineSourcesTest, SayWhatIsLeftOutAndWhy) {
  write(0, 8, "n0", {{10, 0, 0}}, "rank-00000.json");
  make_older("rank-00000.json");
  write(0, 3, "n0", {}, "rank-00001.json");
  write(2, 3, "n1", {{10, -5, 5}});
  write_text("rank-00007.json", "{}");
  const auto found = find_timelines(folder_.path());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->ranks.size(), 1u);
  EXPECT_THAT(found->left_out,
              testing::UnorderedElementsAre("rank-00000.json: of an earlier start with 8 ranks",
                                            "rank-00001.json: says that it is rank 0's",
                                            "rank-00007.json: no timeline of a rank"));
}

TEST_F(TimelineSourcesTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo((folder_.path() + "/rank-0000.json").c_str(), 0600), 0);
  EXPECT_FALSE(find_timelines(folder_.path()));
}

TEST_F(TimelineSourcesTest, WithoutAnyThereIsAnErrorThatHelps) {
  const auto none = find_timelines(folder_.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::bad_request);
  EXPECT_NE(none.error().hint.find("runtime.timeline: true"), std::string::npos);
  EXPECT_FALSE(find_timelines(folder_.path() + "/nowhere"));
}

/// Killed before the first measurement, say.
TEST_F(TimelineSourcesTest, ARankWithoutAClockHasItsHosts) {
  write(0, 4, "n0", {});
  write(1, 4, "n0", {});
  write(2, 4, "n1", {});
  write(3, 4, "n1", {{10, 90, 110}});
  const auto found = find_timelines(folder_.path());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->ranks.size(), 4u);
  EXPECT_EQ(found->ranks[1].offset_ns(5), 0);
  EXPECT_EQ(found->ranks[2].offset_ns(5), 100);

  write(3, 4, "n1", {});
  const auto without = find_timelines(folder_.path());
  ASSERT_TRUE(without);
  EXPECT_EQ(without->ranks.size(), 2u);
  EXPECT_EQ(without->left_out.size(), 2u);
}

TEST(TimelineSource, FollowsTheDriftBetweenMeasurements) {
  const TimelineSource source{.clock = {{1000, 90, 110}, {2000, 180, 220}, {4000, 400, 400}}};
  EXPECT_EQ(source.offset_ns(0), 100);
  EXPECT_EQ(source.offset_ns(1000), 100);
  EXPECT_EQ(source.offset_ns(1500), 150);
  EXPECT_EQ(source.offset_ns(2000), 200);
  EXPECT_EQ(source.offset_ns(3000), 300);
  EXPECT_EQ(source.offset_ns(9000), 400);
  EXPECT_EQ(source.clock_error_ns(), 20);
}

}  // namespace
}  // namespace dllaunch
