#include "launcher/report/rank_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

RankTimes read(const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/ranks.csv";
  std::ofstream(path) << text;
  return read_rank_times(path);
}

constexpr const char* head =
    "epoch,rank,host,data,forward,backward,update,between,communication,waiting,delayed\n";

TEST(RankTimes, AreTheMeanOfAllEpochsButTheFirst) {
  const auto times = read(std::string(head) + "1,0,n1,9,9,9,9,9,9,9,9\n1,1,n2,9,9,9,9,9,9,9,8\n" +
                          "2,0,n1,1,2,3,4,5,6,7,0.5\n2,1,n2,1,1,1,1,1,1,1,0\n" +
                          "3,0,n1,3,2,3,4,5,6,7,0.25\n3,1,n3,1,1,1,1,1,1,1,0\n");
  ASSERT_EQ(times.ranks.size(), 2u);
  EXPECT_EQ(times.epochs, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_DOUBLE_EQ(times.ranks[0].mean[0], 2);
  EXPECT_DOUBLE_EQ(times.ranks[0].mean[6], 7);
  EXPECT_EQ(times.ranks[1].host, "n3") << "it moved";
  EXPECT_EQ(times.delayed[0], (std::vector<double>{9, 0.5, 0.25}));
}

TEST(RankTimes, OneEpochCountsAndARepeatedOneOnce) {
  const auto times = read("1,0,n1,1,1,1,1,1,1,1,1\n1,0,n1,4,1,1,1,1,1,1,2\n");
  ASSERT_EQ(times.ranks.size(), 1u);
  EXPECT_DOUBLE_EQ(times.ranks[0].mean[0], 4);
  EXPECT_EQ(times.delayed[0], std::vector<double>{2});
}

TEST(RankTimes, WhatARankMissedIsUnknown) {
  const auto times =
      read("1,0,n1,1,1,1,1,1,1,1,1\n2,0,n1,1,1,1,1,1,1,1,1\n2,1,n1,1,1,1,1,1,1,1,1\n");
  ASSERT_EQ(times.ranks.size(), 2u);
  EXPECT_TRUE(std::isnan(times.delayed[1][0]));
}

TEST(RankTimes, ARankWithTheFirstEpochAloneHasIt) {
  const auto times =
      read("1,0,n1,1,1,1,1,1,1,1,1\n1,1,n1,5,1,1,1,1,1,1,1\n2,0,n1,2,1,1,1,1,1,1,1\n");
  EXPECT_EQ(times.ranks[0].mean[0], 2);
  EXPECT_EQ(times.ranks[1].mean[0], 5);
}

/// Each row another rank and epoch: as many cells as rows squared, if they were kept.
TEST(RankTimes, AreBounded) {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += std::to_string(i + 1) + "," + std::to_string(i % 3000) + ",n1,1,1,1,1,1,1,1,1\n";
  const auto times = read(text);
  EXPECT_LE(times.ranks.size(), 1024u);
  EXPECT_LE(times.epochs.size(), 4096u);
  EXPECT_EQ(times.epochs.back(), 19'024) << "the newest of the ranks that count";
}

TEST(RankTimes, SkipsWhatIsNoRow) {
  EXPECT_TRUE(read_rank_times("/nowhere/ranks.csv").ranks.empty());
  const std::string row = "1,0,n1,1,1,1,1,1,1,1,1\n";
  for (const char* damage :
       {"", "x\n", "1,0,n1,1\n", "1,0,n1,1,1,1,1,1,1,1,nan\n", "1,-1,n1,1,1,1,1,1,1,1,1\n",
        "99999999999999999999,0,n1,1,1,1,1,1,1,1,1\n", "\xff\n"})
    EXPECT_EQ(read(damage + row).ranks.size(), 1u) << damage;
  std::mt19937 random(3);
  const std::string characters = "0123456789,.-en\n";
  for (int i = 0; i < 300; ++i) {
    std::string text = row;
    for (auto n = random() % 400; n > 0; --n) text += characters[random() % characters.size()];
    const auto times = read(text);
    EXPECT_EQ(times.ranks.size(), times.delayed.size());
    for (const auto& rank : times.delayed) EXPECT_EQ(rank.size(), times.epochs.size());
  }
}

}  // namespace
}  // namespace dllaunch
