#include "launcher/supervise/spawn_ranks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "launcher/accounting/rank_memory.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

/// The real system, but its log is kept.
class KeptLog : public PosixSystem {
 public:
  KeptLog() : PosixSystem(Console{}) {}
  void log(std::string_view text) override { logged += text; }
  std::string logged;
};

class SpawnRanks : public testing::Test {
 protected:
  /// Each rank runs a shell script in the folder.
  int code_of(int ranks, const std::string& script) {
    const auto code =
        spawn_ranks(ranks, {"bash", "-c", "cd '" + folder_.path() + "'; " + script}, system_);
    EXPECT_TRUE(code) << code.error().what;
    EXPECT_TRUE(descendants_of(getpid()).empty()) << "a rank is left";
    return code ? *code : -1;
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder_.path() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string named(const std::string& what) const {
    return "dllaunch: rank 1 on " + KeptLog().host_name() + what + "\n";
  }

  TemporaryFolder folder_;
  KeptLog system_;
};

TEST_F(SpawnRanks, EachKnowsItsPlace) {
  EXPECT_EQ(code_of(3,
                    "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $DLLAUNCH_SPAWN "
                    ">rank-$RANK"),
            0);
  const auto own = std::to_string(getpid());
  EXPECT_EQ(text_of("rank-0"), "0/3 0/3 " + own + "\n");
  EXPECT_EQ(text_of("rank-2"), "2/3 2/3 " + own + "\n");
  EXPECT_EQ(system_.logged, "");
}

TEST_F(SpawnRanks, WritesTheMemoryOfEachIntoTheRunsDirectory) {
  setenv("DLLAUNCH_RUN_DIR", folder_.path().c_str(), 1);
  EXPECT_EQ(code_of(2, "true"), 0);
  unsetenv("DLLAUNCH_RUN_DIR");
  const auto peaks = peaks_in(text_of("memory.csv"), 0);
  ASSERT_EQ(peaks.size(), 2U);
  for (const auto& peak : peaks) EXPECT_GT(peak, 100'000);
}

TEST_F(SpawnRanks, OneThatEndsWellWaitsForTheOthers) {
  EXPECT_EQ(code_of(2, "[ $RANK = 0 ] || { sleep 0.3; touch done; }"), 0);
  EXPECT_EQ(access((folder_.path() + "/done").c_str(), F_OK), 0);
}

TEST_F(SpawnRanks, TheFirstThatFailsEndsTheOthersAndIsNamed) {
  EXPECT_EQ(code_of(3, "[ $RANK = 1 ] && exit 7; sleep 300"), 7);
  EXPECT_EQ(system_.logged, named(" exited with code 7"));
}

TEST_F(SpawnRanks, AKilledOneIsNamed) {
  EXPECT_EQ(code_of(2, "[ $RANK = 1 ] && kill -9 $$; sleep 300"), 137);
  EXPECT_EQ(system_.logged, named(" was killed by signal 9 (SIGKILL)"));
}

TEST_F(SpawnRanks, WorkersOfAKilledRankEndWithIt) {
  if (under_an_emulator()) GTEST_SKIP() << "what is left is not found under qemu-user";
  EXPECT_EQ(code_of(1, "sleep 300 & echo $! >worker; kill -9 $$"), 137);
  EXPECT_NE(kill(std::stoi(text_of("worker")), 0), 0);
}

TEST_F(SpawnRanks, TheStubbornAreKilled) {
  EXPECT_EQ(code_of(2,
                    "[ $RANK = 1 ] && { until [ -e deaf ]; do sleep 0.01; done; exit 3; }; "
                    "trap '' TERM; touch deaf; sleep 300 & wait; sleep 300"),
            3);
}

TEST_F(SpawnRanks, ASignalEndsAllRanks) {
  EXPECT_EQ(code_of(2,
                    "trap 'echo $RANK >>told; exit 0' TERM; echo here >>ranks; "
                    "[ $RANK = 1 ] || { until [ $(wc -l <ranks) = 2 ]; do sleep 0.01; done; "
                    "kill -TERM $PPID; }; while :; do sleep 0.05; done"),
            143);
  EXPECT_EQ(text_of("told").size(), 4u);
}

TEST_F(SpawnRanks, AProgramThatIsMissing) {
  const auto code = spawn_ranks(2, {"/no/such/program"}, system_);
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
