#include "runtime/watchdog/stall_reporter.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

constexpr std::int64_t s = 1'000'000'000;
using Turn = StallReporter::Turn;

Verdict late_since(std::int64_t waited_ns, std::uint64_t collective = 7) {
  return {
      .wait = {.number = collective}, .waited_ns = waited_ns, .late = {{2, WhyLate::not_arrived}}};
}

TEST(StallReporter, RepeatsAfterTwiceTheTimeAndReportsTheEndOnce) {
  StallReporter story;
  EXPECT_EQ(story.next(std::nullopt, 100 * s), Turn::nothing);
  EXPECT_EQ(story.next(late_since(60 * s), 160 * s), Turn::tell);
  story.told(late_since(60 * s), 160 * s);
  EXPECT_EQ(story.next(late_since(119 * s), 219 * s), Turn::nothing);
  EXPECT_EQ(story.next(late_since(120 * s), 220 * s), Turn::tell);
  story.told(late_since(120 * s), 220 * s);
  EXPECT_EQ(story.next(late_since(239 * s), 339 * s), Turn::nothing);

  EXPECT_EQ(story.next(std::nullopt, 340 * s), Turn::nothing) << "others may be on their way out";
  EXPECT_EQ(story.next(std::nullopt, 341 * s), Turn::tell_over);
  EXPECT_EQ(story.last(341 * s).waited_ns, 240 * s);
  story.forget();
  EXPECT_EQ(story.next(std::nullopt, 342 * s), Turn::nothing);
}

TEST(StallReporter, APauseIsNoPartOfTheStall) {
  StallReporter story;
  story.told(late_since(60 * s), 160 * s);
  story.add_pause(1000 * s);
  EXPECT_EQ(story.next(late_since(119 * s), 1219 * s), Turn::nothing);
  EXPECT_EQ(story.next(late_since(120 * s), 1220 * s), Turn::tell);
  EXPECT_EQ(story.last(1220 * s).waited_ns, 120 * s);
}

TEST(StallReporter, AMomentWithoutAVerdictIsNotTheEnd) {
  StallReporter story;
  story.told(late_since(60 * s), 160 * s);
  EXPECT_EQ(story.next(std::nullopt, 170 * s), Turn::nothing);
  EXPECT_EQ(story.next(late_since(71 * s), 171 * s), Turn::nothing);
  EXPECT_EQ(story.next(std::nullopt, 172 * s), Turn::nothing);
}

TEST(StallReporter, AnotherCollectiveIsAnotherStall) {
  StallReporter story;
  story.told(late_since(60 * s), 160 * s);
  EXPECT_EQ(story.next(late_since(61 * s, 8), 300 * s), Turn::tell_over);
  story.forget();
  EXPECT_EQ(story.next(late_since(61 * s, 8), 300 * s), Turn::tell);
}

}  // namespace
}  // namespace dllaunch
