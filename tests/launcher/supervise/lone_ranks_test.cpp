#include "launcher/supervise/lone_ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

SupervisedRun run_on(const std::string& nodes) {
  return {.dir = {.path = "/r"},
          .start = start_command_of({"srun", "--nodes=3", "dllaunch", "exec", "--run-dir", "/r"}),
          .allocation = {.job = "17", .nodes = nodes, .host = "n1"}};
}

TEST(LoneRanks, OnlyThoseOfOneStartAreKilled) {
  const TemporaryFolder folder;
  const auto rank_of = [&](const std::string& run_dir, const std::string& start) {
    auto rank = OwnedProcess::start(
        {.program = "/bin/sleep",
         .argv = {"sleep", "60"},
         .environment = {{"DLLAUNCH_RUN_DIR", run_dir}, {"DLLAUNCH_GENERATION", start}},
         .output_path = "/dev/null"});
    EXPECT_TRUE(rank);
    return *std::move(rank);
  };
  auto ours = rank_of(folder.path(), "3");
  auto next = rank_of(folder.path(), "4");
  auto others = rank_of(folder.path() + "/other", "3");
  kill_ranks_of_start(folder.path(), 3);
  for (int i = 0; i < 6000 && !ours.poll(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(ours.poll(), 128 + SIGKILL);
  for (int i = 0; i < 20 && !next.poll() && !others.poll(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(next.poll());
  EXPECT_FALSE(others.poll());
}

TEST(LoneRanks, ACheckpointOfThatStartIsBeingWritten) {
  const TemporaryFolder folder;
  EXPECT_FALSE(saves_checkpoint(folder.path(), 3)) << "no folder";
  std::filesystem::create_directories(folder.path() + "/checkpoints/step-00000005");
  std::filesystem::create_directories(folder.path() + "/checkpoints/.tmp-2-step-00000006");
  EXPECT_FALSE(saves_checkpoint(folder.path(), 3)) << "a leftover of the start before";
  std::filesystem::create_directories(folder.path() + "/checkpoints/.tmp-3-step-00000006");
  EXPECT_TRUE(saves_checkpoint(folder.path(), 3));
}

TEST(LoneRanks, TheyHaveTimeForWhatOneOfThemHasToSay) {
  const auto ms = [](const RankGone& gone) { return patience_with_survivors(gone).count(); };
  EXPECT_EQ(ms({}), 1000) << "it exited: maybe for want of a killed one";
  EXPECT_EQ(ms({.stalled = true}), 3000);
  EXPECT_EQ(ms({.saves = true}), 3000);
  EXPECT_EQ(ms({.killed = true}), 500);
  EXPECT_EQ(ms({.killed = true, .stalled = true}), 500);
  EXPECT_EQ(ms({.killed = true, .saves = true}), 3000);
  EXPECT_EQ(ms({.echo = true}), 5000);
  EXPECT_EQ(ms({.killed = true, .echo = true}), 500) << "by now srun has named the cause";
}

TEST(LoneRanks, AStepKillsThoseOnOtherNodes) {
  std::string words;
  for (const auto& word : killing_argv(run_on("n[1-3]"), {"n2", "n3"}, "/bin/dllaunch", 3))
    words += word + " ";
  EXPECT_THAT(words, testing::StartsWith("env -u DLLAUNCH_RUN_DIR "));
  EXPECT_THAT(words, HasSubstr(" --overlap --nodelist=n[2-3] --nodes=2 --ntasks=2 "));
  EXPECT_THAT(
      words, testing::EndsWith(" /bin/dllaunch supervise --kill-ranks 3 --signal 9 --run-dir /r "));
}

TEST(LoneRanks, WithoutOtherNodesThereIsNoStep) {
  FakeSystem system;
  auto by_mpirun = run_on("n[1-3]");
  by_mpirun.start = start_command_of({"mpirun", "-n", "3", "./app"});
  EXPECT_FALSE(kill_ranks_elsewhere(system, by_mpirun, 3));
  EXPECT_TRUE(system.ran.empty());
  EXPECT_FALSE(kill_ranks_elsewhere(system, run_on("n[1-3]"), 3)) << "Slurm does not answer";
}

}  // namespace
}  // namespace dllaunch
