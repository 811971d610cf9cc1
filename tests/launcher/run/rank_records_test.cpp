#include "launcher/run/rank_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/file_text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

class RankRecordsTest : public testing::Test {
 protected:
  RankRecordsTest() {
    setenv("TZ", "UTC", 1);
    tzset();
    std::filesystem::create_directories(run_.path + "/ranks");
  }
  void lines(const std::string& host, const std::string& text) const {
    std::ofstream(run_.path + "/ranks/" + host + ".jsonl", std::ios::app) << text;
  }
  void began(int rank, const std::string& host, int ranks = 4, int token = 3) const {
    lines(host, R"({"time": 50, "rank": )" + std::to_string(rank) + R"(, "generation": )" +
                    std::to_string(token) + R"(, "ranks": )" + std::to_string(ranks) + "}\n");
  }
  void ended(int rank, const std::string& host, double time, const std::string& how) const {
    lines(host, R"({"time": )" + std::to_string(time) + R"(, "rank": )" + std::to_string(rank) +
                    R"(, "generation": 3, )" + how + "}\n");
  }
  RanksOfStart start() const { return ranks_of_start(run_, 3, 0); }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
};

TEST_F(RankRecordsTest, WhatAShimWritesIsRead) {
  auto record = RankLifeRecord::begin(run_.path, "n1", 1, 2, 3);
  ASSERT_TRUE(record) << record.error().what;
  ASSERT_EQ(start().lives.size(), 1u);
  EXPECT_EQ(start().ranks, 2);
  EXPECT_EQ(start().lives.at(1).host, "n1");
  EXPECT_EQ(start().lives.at(1).ended_s, 0);
  record->end(7 << 8);
  EXPECT_GT(start().lives.at(1).ended_s, 0);
  EXPECT_EQ(start().lives.at(1).exit_code, 7);
  record->end(SIGKILL);
  EXPECT_EQ(start().lives.at(1).signal, SIGKILL);
  EXPECT_EQ(never_began(start(), 4, ""), IdSet({0})) << "it knows that they are two";
}

TEST_F(RankRecordsTest, OnlyTheStartThatIsAskedForCounts) {
  began(0, "n1", 4, 2);
  began(1, "n1", 4, 3);
  began(2, "n2", 4, 0);
  lines("n2", "torn {\n[]\n{\"rank\": \"x\"}\n{\"rank\": -2, \"generation\": 3}\n");
  EXPECT_EQ(never_began(ranks_of_start(run_, 3, 50), 4, ""), IdSet({0, 3}))
      << "a rank that does not know its start counts if it is young enough";
  EXPECT_EQ(never_began(ranks_of_start(run_, 3, 100), 4, ""), IdSet({0, 2, 3}));
}

TEST_F(RankRecordsTest, RanksThatLeftNoRecordDidNotBegin) {
  EXPECT_EQ(never_began(start(), 4, ""), IdSet({0, 1, 2, 3}));
  began(0, "n1");
  began(1, "n1");
  EXPECT_EQ(never_began(start(), 8, ""), IdSet({2, 3}));
  const auto said = unrecorded_words(2, "n2", {ErrorKind::unavailable, "the disk is full", ""});
  EXPECT_EQ(never_began(start(), 4, said), IdSet({3})) << "it said that it could not";
  EXPECT_EQ(words_of_unbegun({2, 3}, "srun: error: task 2 launch failed: x"),
            "ranks 2-3 did not begin: srun: error: task 2 launch failed: x");
  EXPECT_THAT(words_of_unbegun({2}, ""), HasSubstr("rank 2 left no record"));
}

TEST_F(RankRecordsTest, ARankThatCannotWriteSaysWhy) {
  const auto record = RankLifeRecord::begin(folder_.path() + "/none", "n1", 0, 2, 3);
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().what, HasSubstr("/none/ranks/n1.jsonl: No such file"));
}

TEST_F(RankRecordsTest, WhoLeftTheOthersAloneIsNamed) {
  for (const int rank : {0, 1}) began(rank, "n1");
  for (const int rank : {2, 3}) began(rank, "n2");
  EXPECT_EQ(words_of_who_left(start()), "");
  ended(0, "n1", 100, R"("exit_code": 0)");
  EXPECT_EQ(words_of_who_left(start()),
            "rank 0 on n1 ended with exit code 0 at 00:01:40; ranks 1-3 have not ended");
  ended(2, "n2", 3725, R"("exit_code": 0)");
  ended(3, "n2", 90, R"("signal": 9)");
  EXPECT_EQ(words_of_who_left(start()),
            "ranks 0,2 ended with exit code 0, the last at 01:02:05; rank 3 on n2 ended with "
            "signal 9 (SIGKILL) at 00:01:30; rank 1 has not ended");
  ended(1, "n1", 4000, R"("exit_code": 0)");
  EXPECT_EQ(words_of_who_left(start()), "");
}

TEST_F(RankRecordsTest, AtTheEndItIsWhoLeftWellBeforeTheOthers) {
  for (const int rank : {0, 1, 2}) began(rank, "n1");
  ended(0, "n1", 100, R"("exit_code": 0)");
  ended(1, "n1", 108, R"("exit_code": 0)");
  EXPECT_EQ(words_of_who_left_early(start()),
            "ranks 0-1 ended with exit code 0, the last at 00:01:48, before the others")
      << "rank 2 was killed with its shim";
  ended(2, "n1", 110, R"("signal": 15)");
  EXPECT_EQ(words_of_who_left_early(start()),
            "rank 0 on n1 ended with exit code 0 at 00:01:40, before the others");
}

TEST_F(RankRecordsTest, RanksThatEndWellOneAfterTheOtherAreNotTold) {
  for (const int rank : {0, 1}) began(rank, "n1", 2);
  ended(0, "n1", 100, R"("exit_code": 0)");
  ended(1, "n1", 900, R"("exit_code": 0)");
  EXPECT_EQ(words_of_who_left_early(start()), "");
}

}  // namespace
}  // namespace dllaunch
