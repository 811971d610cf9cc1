#include "launcher/postmortem/failure_summary.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class FailureSummaryTest : public testing::Test {
 protected:
  FailureSummaryTest() { std::filesystem::create_directories(run_.out()); }

  void log(const std::string& name, const std::string& text) {
    std::ofstream(run_.out() + "/" + name) << text;
  }
  Outcome of(const DeadRank& dead, double since_s = 0) {
    Outcome outcome;
    add_failure_summary(run_, dead, since_s, {"/starter.log", "srun said so\n"}, outcome);
    return outcome;
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
};

TEST_F(FailureSummaryTest, TheErrorItsLogAndWhatToChange) {
  log("rank-0000-n1.log", "fine\n");
  log("rank-0001-n1.log", "ImportError: libx.so: cannot open\n");
  const auto outcome = of({.rank = 0, .exit_code = 1});
  EXPECT_EQ(outcome.first_error, "rank 1 on n1: ImportError: libx.so: cannot open");
  EXPECT_NE(outcome.advice.find("environment.activate"), std::string::npos);
  EXPECT_EQ(outcome.log, run_.out() + "/rank-0001-n1.log");
}

TEST_F(FailureSummaryTest, WhoDiedOfASignalIsQuotedItself) {
  log("rank-0000-n1.log", "error: a peer is gone\n");
  log("rank-0001-n1.log", "step 7\n");
  const auto outcome = of({.rank = 1, .signal = 9});
  EXPECT_EQ(outcome.log, run_.out() + "/rank-0001-n1.log");
  EXPECT_EQ(outcome.excerpt, (std::vector<std::string>{"step 7"}));
  EXPECT_NE(outcome.advice.find("memory"), std::string::npos);
}

TEST_F(FailureSummaryTest, QuotesTheStarterIfNoRankPrinted) {
  log("rank-0000-n1.log", "step 7\n");
  EXPECT_EQ(of({}).log, "/starter.log");
  EXPECT_EQ(of({}).excerpt, (std::vector<std::string>{"srun said so"}));
  // The rank that died has a log: it is nearer.
  EXPECT_EQ(of({.rank = 0, .exit_code = 7}).log, run_.out() + "/rank-0000-n1.log");
  EXPECT_EQ(of({.rank = 0, .exit_code = 7}).first_error, "");
}

TEST_F(FailureSummaryTest, AStallThatEndedTheRunIsItsCause) {
  RunTotals totals;
  totals.take(StallEvent{.time = 1, .state = "late", .late_ranks = {0}, .line = "stall: rank 0"});
  Outcome outcome{.status = RunStatus::failed, .advice = "the kernel did, for memory"};
  add_stall(run_, totals, outcome);
  EXPECT_EQ(outcome.first_error, "stall: rank 0");
  EXPECT_EQ(outcome.advice, "the kernel did, for memory") << "it may be";

  totals.take(StallEvent{.time = 2, .state = "gave up", .line = "stall: rank 0; gave up"});
  outcome.first_error = "rank 0 on n1: error: broken pipe";
  add_stall(run_, totals, outcome);
  EXPECT_EQ(outcome.first_error, "stall: rank 0; gave up");
  EXPECT_NE(outcome.advice.find("runtime.stall_abort_seconds"), std::string::npos);

  Outcome well{.status = RunStatus::completed};
  add_stall(run_, totals, well);
  EXPECT_EQ(well.first_error, "");
}

TEST_F(FailureSummaryTest, OfRanksThatMadeNoProgressTheOneThatHeldUpTheOthers) {
  const std::string autopsy = run_.path + "/autopsy";
  std::filesystem::create_directories(autopsy);
  std::ofstream(autopsy + "/20261127-075900.json")
      << R"({"time": 100, "reason": "no progress for 15 s", "sentence": "rank 2 is in fetch"})";
  std::ofstream(autopsy + "/20261127-075900.txt") << "tree";
  log("rank-0000-n1.log", "step 7\n");
  Outcome outcome;
  add_stacks(run_, 90, outcome);
  add_failure_summary(run_, {.rank = 0, .signal = 9}, 90, {}, outcome);
  EXPECT_EQ(outcome.first_error, "rank 2 is in fetch");
  EXPECT_THAT(outcome.advice, testing::StartsWith(autopsy + "/20261127-075900.txt has"));

  Outcome without;  // the stacks are those of an earlier start
  add_stacks(run_, 200, without);
  EXPECT_EQ(without.first_error, "");
  EXPECT_THAT(without.advice, testing::HasSubstr("runtime.stall_abort_seconds"));
}

TEST_F(FailureSummaryTest, StacksOfAHangAreToldWhateverWasReadBesides) {
  std::filesystem::create_directories(run_.path + "/autopsy");
  const auto keep = [this](int time, const std::string& kind) {
    const auto path = fmt::format("{}/autopsy/{}", run_.path, time);
    std::ofstream(path + ".json") << fmt::format(
        R"({{"time": {}, "kind": "{}", "sentence": "{} at {}"}})", time, kind, kind, time);
    std::ofstream(path + ".txt") << "tree";
  };
  const auto told = [this] {
    Outcome outcome;
    add_stacks(run_, 200, outcome);
    return outcome.first_error;
  };
  keep(150, "hang");
  keep(210, "time_limit");
  EXPECT_EQ(told(), "") << "of an earlier attempt, and of ranks that may have been well";
  keep(220, "silence");
  keep(230, "silence");
  EXPECT_EQ(told(), "silence at 230");
  keep(225, "stall");
  keep(240, "time_limit");
  EXPECT_EQ(told(), "stall at 225");
}

TEST_F(FailureSummaryTest, ADeathStandsWhereNoLogHasAnError) {
  RunTotals totals;
  totals.take(StallEvent{.time = 1, .state = "died", .line = "rank 1 on n1 died of SIGKILL"});
  Outcome outcome{.status = RunStatus::failed, .first_error = "ValueError: bad"};
  add_stall(run_, totals, outcome);
  EXPECT_EQ(outcome.first_error, "ValueError: bad");
  outcome.first_error.clear();
  add_stall(run_, totals, outcome);
  EXPECT_EQ(outcome.first_error, "rank 1 on n1 died of SIGKILL");
}

TEST_F(FailureSummaryTest, AnEarlierRunsErrorIsNotThisOnes) {
  log("rank-0000-n1.log", "ValueError: yesterday\n");
  Outcome outcome;
  const auto later = static_cast<double>(std::time(nullptr)) + 100;
  EXPECT_FALSE(add_failure_summary(run_, {}, later, {}, outcome));
  EXPECT_TRUE(add_failure_summary(run_, {}, 0, {}, outcome));
}

TEST_F(FailureSummaryTest, AdviceThatIsThereStays) {
  log("rank-0000-n1.log", "ImportError: x\n");
  Outcome outcome{.advice = "mend it"};
  add_failure_summary(run_, {}, 0, {}, outcome);
  EXPECT_EQ(outcome.advice, "mend it");
}

}  // namespace
}  // namespace dllaunch
