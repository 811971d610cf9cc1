#include "launcher/supervise/rank_states.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "launcher/os/owned_process.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(RankStates, AreWordsForWhatTheKernelSays) {
  EXPECT_EQ(state_words("12 (a) R 1 2", ""), "running");
  EXPECT_EQ(state_words("12 (a b) T)) T 1", "do_signal_stop"), "stopped");
  EXPECT_EQ(state_words("12 (a) S 1", "futex_wait_queue"), "asleep in futex_wait_queue");
  EXPECT_EQ(state_words("12 (a) S 1", "0"), "asleep");
  EXPECT_EQ(state_words("12 (a) D 1", "folio_wait_bit"), "blocked in the kernel in folio_wait_bit");
  EXPECT_EQ(state_words("12 (a) Z 1", ""), "dead");
  EXPECT_EQ(state_words("", ""), "gone");
  EXPECT_EQ(state_words("12 (a)", ""), "gone");
}

TEST(RankStates, AProcessOfTheRunIsFoundAndNamed) {
  const TemporaryFolder folder;
  PosixSystem system(Console{});
  auto process =
      OwnedProcess::start({.program = "/bin/sleep",
                           .argv = {"sleep", "60"},
                           .environment = {{"DLLAUNCH_RUN_DIR", folder.path()}, {"RANK", "3"}},
                           .output_path = "/dev/null"});
  ASSERT_TRUE(process);
  EXPECT_THAT(rank_states_here(system, folder.path()), HasSubstr("rank 3 on "));
  process->send(SIGSTOP);
  std::string states;
  for (int i = 0; i < 6000 && states.find("stopped") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    states = rank_states_here(system, folder.path());
  }
  EXPECT_THAT(states, HasSubstr("is stopped"));
  EXPECT_EQ(rank_states_here(system, folder.path() + "/other"), "");
}

}  // namespace
}  // namespace dllaunch
