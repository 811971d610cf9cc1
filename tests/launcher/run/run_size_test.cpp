#include "launcher/run/run_size.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

RunOutline elastic() {
  RunOutline plan;
  plan.nodes = 4;
  plan.ranks_per_node = 2;
  plan.recovery.min_nodes = 2;
  return plan;
}

constexpr std::string_view shrank =
    R"({"time":1,"event":"attempt","job":"6","allocation":0,"nodes":2,"held":2}
{"time":2,"event":"attempt","job":"7","allocation":0,"nodes":4,"held":4}
{"time":3,"event":"ended","job":"7","allocation":0,"cause":"failed"}
{"time":4,"event":"attempt","job":"7","allocation":0,"nodes":4,"held":4}
{"time":5,"event":"ended","job":"7","allocation":0,"cause":"lost_node"}
{"time":6,"event":"attempt","job":"7","allocation":0,"nodes":3,"held":3}
{"time":7,"event":"ended","job":"7","allocation":0,"cause":"requeued"}
{"time":8,"event":"attempt","job":"7","allocation":1,"nodes":2,"held":2}
{"time":9,"event":"ended","job":"7","allocation":1,"cause":"not_started"}
)";

TEST(RunSize, IsThatOfEachStartOfTheJobAndOfTheLast) {
  const auto journal = parse_journal(shrank);
  const auto sizes = sizes_in(journal, elastic(), "7");
  EXPECT_THAT(sizes, ElementsAre(4, 3)) << "the last has not started";
  EXPECT_EQ(ranks_now(elastic(), sizes), 6);
  EXPECT_EQ(rank_words(elastic(), sizes), "6 on 3 of 4 nodes, at least 2");
  EXPECT_EQ(change_words(elastic(), sizes), "ranks 8, then 6");
  EXPECT_THAT(sizes_in(journal, elastic(), "6"), ElementsAre(2));
}

TEST(RunSize, IsThePlannedOneWhereNothingElseIsKnown) {
  auto plan = elastic();
  EXPECT_THAT(sizes_in(parse_journal(shrank), plan, "8"), IsEmpty());
  EXPECT_EQ(ranks_now(plan, {}), 8);
  EXPECT_EQ(rank_words(plan, {}), "8 on 4 nodes, at least 2");
  EXPECT_EQ(rank_words(plan, {4}), "8 on 4 nodes, at least 2");
  EXPECT_EQ(change_words(plan, {4}), "");
  plan.recovery.min_nodes = 0;
  EXPECT_THAT(sizes_in(parse_journal(shrank), plan, "7"), IsEmpty());
}

/// Within an allocation a run may be started several times.
TEST(RunSize, IsThatOfAllStartsInAnAllocation) {
  const auto journal = parse_journal(
      R"({"time":1,"event":"attempt","job":"17 start 2","allocation":0,"nodes":3,"held":3})");
  EXPECT_THAT(sizes_in(journal, elastic(), "17"), ElementsAre(3));
  EXPECT_THAT(sizes_in(journal, elastic(), "1"), IsEmpty());
}

}  // namespace
}  // namespace dllaunch
