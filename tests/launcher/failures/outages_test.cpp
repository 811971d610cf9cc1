#include "launcher/failures/outages.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

constexpr double day_s = 86400;

std::string problem_in(const std::string& text) {
  const auto read = parse_outages(text, "o.csv");
  return read ? "" : read.error().what;
}

TEST(NodeOutages, AreReadWithTheirPeriod) {
  const auto read = parse_outages(
      "# nodes: 4\n# from: 0\n# until: 30\n# seen by: us\n"
      "repaired, node ,why,failed\n2,n1,\"a, b\",1\n,n2,x,29\n",
      "o.csv");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->nodes, 4);
  EXPECT_TRUE(read->nodes_given);
  EXPECT_EQ(read->until_s, 30 * day_s);
  ASSERT_EQ(read->all.size(), 2U);
  EXPECT_EQ(read->all[0].node, "n1");
  EXPECT_EQ(read->all[0].failed_s, day_s);
  EXPECT_EQ(read->all[0].repaired_s, 2 * day_s);
  EXPECT_EQ(read->all[1].repaired_s, 30 * day_s) << "it is still out";
}

TEST(NodeOutages, DatesAreMoments) {
  const auto read = parse_outages(
      "\xef\xbb\xbfnode,failed,repaired\r\n"
      "n1,2026-01-03T04:00:00Z,2026-01-04T04:00:00Z\r\n"
      "n2,2026-01-05T04:00:00Z,2026-01-05T05:00:00Z\r\n",
      "o.csv");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->nodes, 2) << "those that appear";
  EXPECT_FALSE(read->nodes_given);
  EXPECT_EQ(read->until_s - read->from_s, 2 * day_s + 3600);
}

TEST(NodeOutages, OverlappingOnesAreOne) {
  const auto read =
      parse_outages("node,failed,repaired\nn1,1,3\nn1,2,5\nn1,5,6\nn1,8,9\nn2,1,2\n", "o.csv");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->all.size(), 3U);
  EXPECT_EQ(read->all[0].repaired_s, 6 * day_s);
}

TEST(NodeOutages, WhatIsOutsideThePeriodIsCutOff) {
  const auto read = parse_outages(
      "# from: 2\n# until: 4\nnode,failed,repaired\nn1,1,3\nn2,3,9\nn3,4,5\n", "o.csv");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->all.size(), 2U);
  EXPECT_EQ(read->all[0].failed_s, 2 * day_s) << "it is out from the begin on";
  EXPECT_EQ(read->all[0].repaired_s, 3 * day_s);
  EXPECT_TRUE(read->all[0].began_before);
  EXPECT_EQ(read->all[1].repaired_s, 4 * day_s);
  EXPECT_FALSE(read->all[1].began_before);
  EXPECT_EQ(failures_in(*read), 1);
}

TEST(NodeOutages, WhatIsOverBeforeThePeriodIsNotInIt) {
  const auto read =
      parse_outages("# from: 2\n# until: 4\nnode,failed,repaired\nn1,0,1\nn2,0,2\n", "o.csv");
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->all.empty());
}

/// A report about a node that is still out does not begin another outage.
TEST(NodeOutages, AFailureOfANodeThatIsOutIsNone) {
  const auto read = parse_outages(
      "# from: 2\n# until: 9\nnode,failed,repaired\nn1,2,3\nn1,1,4\nn1,3,5\n", "o.csv");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->all.size(), 1U);
  EXPECT_TRUE(read->all[0].began_before);
  EXPECT_EQ(read->all[0].repaired_s, 5 * day_s);
}

TEST(NodeOutages, MistakesAreNamedWithTheirLine) {
  const std::string head = "node,failed,repaired\n";
  EXPECT_EQ(problem_in(""), "o.csv:1: no line 'node,failed,repaired'");
  EXPECT_EQ(problem_in("a,b\n"),
            "o.csv:1: no column 'node' in the first line, which names them between commas");
  EXPECT_EQ(problem_in(head + "\nn1,2,1\n"), "o.csv:3: it was repaired before it failed");
  EXPECT_EQ(problem_in(head + ",1,2\n"), "o.csv:2: no name of a node");
  EXPECT_EQ(problem_in(head + "n1,10m,\n"),
            "o.csv:2: '10m' is neither a date such as 2026-11-23 08:30 nor a number of days");
  EXPECT_EQ(problem_in(head + "n1\n"),
            "o.csv:2: '' is neither a date such as 2026-11-23 08:30 nor a number of days");
  EXPECT_EQ(problem_in(head + "n1,1e9,\n"), "o.csv:2: '1e9' is more than a million days");
  EXPECT_EQ(problem_in(head + "n1,-1,\n"),
            "o.csv:2: '-1' is negative: days count from a first one, which is 0");
  EXPECT_EQ(problem_in("# from: -5\n" + head),
            "o.csv:1: '-5' is negative: days count from a first one, which is 0");
  EXPECT_EQ(problem_in(head + "n1,1,2026-01-01\n"),
            "o.csv:2: times are dates in one line and numbers of days in another");
  EXPECT_EQ(problem_in("# nodes: 1\n" + head + "n1,1,2\nn2,1,2\n"),
            "o.csv:4: '# nodes: 1', but 2 appear");
  EXPECT_EQ(problem_in("# nodes: many\n" + head), "o.csv:1: 'many' is not a number of nodes");
  EXPECT_EQ(problem_in("# from: 5\n# until: 5\n" + head + "n1,1,2\n"),
            "o.csv:4: the nodes were watched for no time: '# until:' is not after '# from:'");
}

TEST(NodeOutages, MoreThanAFleetHasAreRefused) {
  std::string text = "node,failed,repaired\n";
  constexpr int most = 100'000;
  for (int i = 0; i < most; ++i) text += "n,1,2\n";
  EXPECT_EQ(problem_in(text), "");
  EXPECT_EQ(problem_in(text + "n,1,2\n"),
            "o.csv:100002: more than 100000 outages: give the newest ones");
}

}  // namespace
}  // namespace dllaunch
