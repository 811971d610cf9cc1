#include "trainer/reports/rank_columns.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(RankColumns, ARowPerRank) {
  EpochRanks epoch;
  epoch.ranks.resize(2);
  epoch.ranks[1].data = 0.25;
  epoch.ranks[1].waiting = 1;
  epoch.ranks[1].pipeline = 2;
  epoch.ranks[1].delayed = 1.5;
  epoch.hosts = {"n1", "a,b"};
  EXPECT_EQ(
      rank_rows(3, epoch),
      "3,0,n1,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000,0.000000\n"
      "3,1,\"a,b\",0.250000,0.000000,0.000000,0.000000,0.000000,0.000000,3.000000,1.500000\n");
  EXPECT_EQ(rank_csv_columns().size(), 10u);
}

TEST(RankColumns, NoRowsForThousandsOfRanks) {
  EpochRanks epoch;
  epoch.ranks.resize(1025);
  epoch.hosts.resize(1025);
  EXPECT_EQ(rank_rows(1, epoch), "");
  EXPECT_EQ(rank_rows(1, {}), "");
}

}  // namespace
}  // namespace dllaunch
