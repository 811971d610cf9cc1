#include "launcher/run/rank_logs.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class RankLogsTest : public testing::Test {
 protected:
  RankLogsTest() { std::filesystem::create_directories(run_.out()); }

  std::string log(const std::string& name, const std::string& text) {
    std::ofstream(run_.out() + "/" + name) << text;
    return run_.out() + "/" + name;
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
};

TEST_F(RankLogsTest, NamesGoBothWays) {
  EXPECT_EQ(rank_log_name(3, "n1"), "rank-0003-n1.log");
  EXPECT_EQ(rank_log_name(12345, "a/b"), "rank-12345-a_b.log");
  EXPECT_EQ(host_of_log("/x/out/rank-0003-gpu-12.site.log"), "gpu-12.site");
  EXPECT_EQ(host_of_log("/x/out/mpirun.log"), "");
  log("rank-0003-n7.log", "");
  EXPECT_EQ(host_of_rank(run_, 3), "n7");
  EXPECT_EQ(host_of_rank(run_, 4), "");
}

TEST_F(RankLogsTest, TheHostsAreThoseOfEachRanksNewestLog) {
  EXPECT_EQ(hosts_of_ranks(run_), "");
  const auto before = log("rank-0001-n9.log", "");
  std::filesystem::last_write_time(
      before, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  log("rank-0001-n2.log", "");
  log("rank-0000-n1.log", "");
  log("mpirun.log", "");
  EXPECT_EQ(hosts_of_ranks(run_), "n[1-2]");
  // Of hundreds of ranks, one log a node.
  log("n3.log", "");
  EXPECT_EQ(hosts_of_ranks(run_), "n[1-3]");
}

/// It ran on n1, on n2 and on n1 again; n3 has the log of a whole node.
TEST_F(RankLogsTest, ARanksLinesAreInAllItsLogsTheNewestLast) {
  const auto now = std::filesystem::file_time_type::clock::now();
  const auto lines = [&](const LogSizes& from) {
    std::vector<std::string> all;
    EXPECT_TRUE(for_each_line_of_rank(run_, 0, from, [&](const std::string& line) {
      if (!line.empty()) all.push_back(line);
    }));
    return all;
  };
  const auto first = log("rank-0000-n1.log", "first\nthird");
  std::filesystem::last_write_time(log("rank-0000-n2.log", "second\n"),
                                   now - std::chrono::hours(1));
  std::filesystem::last_write_time(log("n3.log", "0: of a node\n1: another rank's\n"),
                                   now - std::chrono::hours(2));
  log("rank-0001-n1.log", "another rank's\n");
  log("mpirun.log", "no rank's\n");
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines({}), (Lines{"of a node", "second", "first", "third"}));
  const auto before = sizes_of_logs(run_);
  EXPECT_EQ(before.at("rank-0000-n1.log"), 11U);
  EXPECT_EQ(lines(before), Lines{});
  std::ofstream(first, std::ios::app) << "\nfourth\n";
  log("rank-0000-n4.log", "5\n");
  std::filesystem::last_write_time(first, now - std::chrono::minutes(1));
  EXPECT_EQ(lines(before), (Lines{"fourth", "5"})) << "a log that was not there counts whole";
}

TEST_F(RankLogsTest, APipeInALogsPlaceIsNotWaitedFor) {
  const auto pipe = run_.out() + "/rank-0001-n1.log";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(file_end(pipe, 100), "");
  EXPECT_TRUE(excerpt_of(run_, {.rank = 1}, 10).lines.empty());
}

TEST_F(RankLogsTest, TheDeadRanksLogIsQuoted) {
  log("rank-0000-n1.log", "error: not this one\n");
  const auto path = log("rank-0001-n2.log", "begin\nthe last words\n");
  const auto excerpt = excerpt_of(run_, {.rank = 1, .signal = 11}, 10);
  EXPECT_EQ(excerpt.path, path);
  EXPECT_EQ(excerpt.lines, (std::vector<std::string>{"begin", "the last words"}));
}

TEST_F(RankLogsTest, ASilentRanksErrorIsInAnothersLog) {
  const auto own = log("rank-0001-n1.log", "epoch 1\n");
  const auto words = log("rank-0000-n1.log", "dltrain: error: no such file\n");
  EXPECT_EQ(excerpt_of(run_, {.rank = 1, .exit_code = 2}, 10).path, words);
  // A signal strikes one rank: what others say comes of it and does not explain it.
  EXPECT_EQ(excerpt_of(run_, {.rank = 1, .signal = 9}, 10).path, own);
}

TEST_F(RankLogsTest, WithoutAnyErrorItsOwnLastWords) {
  const auto own = log("rank-0001-n1.log", "the last words\n");
  log("rank-0000-n1.log", "fine\n");
  EXPECT_EQ(excerpt_of(run_, {.rank = 1, .exit_code = 7}, 10).path, own);
}

TEST_F(RankLogsTest, WithoutANameTheOneWithAnError) {
  log("rank-0000-n1.log", "fine\n");
  const auto path = log("rank-0001-n1.log", "dltrain: error: no such file\n");
  log("rank-0002-n1.log", "fine\n");
  const auto excerpt = excerpt_of(run_, {}, 10);
  EXPECT_EQ(excerpt.path, path);
  EXPECT_TRUE(excerpt.has_error);
}

TEST_F(RankLogsTest, NoLogsNoWords) {
  EXPECT_EQ(excerpt_of(run_, {.rank = 1}, 10).path, "");
  EXPECT_EQ(excerpt_of(RunDir{.path = "/no/such"}, {}, 10).path, "");
}

TEST_F(RankLogsTest, TheEndOfAFileBeginsWithALine) {
  const auto path = log("x", "first\nsecond\nthird\n");
  EXPECT_EQ(file_end(path, 100), "first\nsecond\nthird\n");
  EXPECT_EQ(file_end(path, 9), "third\n");
  EXPECT_EQ(file_end("/no/such", 9), "");
}

}  // namespace
}  // namespace dllaunch
