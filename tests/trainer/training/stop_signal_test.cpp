#include "trainer/training/stop_signal.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace dllaunch {
namespace {

// In a child process: flag and handlers belong to the process.
[[noreturn]] void end_with_flag_after(std::initializer_list<int> signals) {
  catch_stop_signals();
  if (stop_was_requested()) std::_Exit(9);
  for (const int signal : signals) raise(signal);
  std::_Exit(stop_was_requested() ? 0 : 1);
}

TEST(StopSignal, EachOfTheThreeSetsTheFlag) {
  for (const int signal : {SIGUSR2, SIGTERM, SIGINT}) {
    EXPECT_EXIT(end_with_flag_after({signal}), testing::ExitedWithCode(0), "");
  }
  EXPECT_EXIT(end_with_flag_after({}), testing::ExitedWithCode(1), "");
}

TEST(StopSignal, AFourthMayBeRequested) {
  const auto end_after = [](const char* another, std::initializer_list<int> signals) {
    catch_stop_signals(another);
    for (const int signal : signals) raise(signal);
    std::_Exit(stop_was_requested() ? 0 : 1);
  };
  EXPECT_EXIT(end_after("USR1", {SIGUSR1, SIGUSR1}), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(end_after("HUP", {SIGHUP}), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(end_after("USR2", {SIGUSR2}), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(end_after("TERM", {SIGUSR1}), testing::KilledBySignal(SIGUSR1), "");
}

/// Before the communicator is open, Ctrl-C still ends a rank at once.
TEST(StopSignal, AWarningBeforeTheStartIsKept) {
  const auto end_after = [](int signal) {
    catch_warnings("HUP");
    raise(signal);
    std::_Exit(stop_was_requested() ? 0 : 1);
  };
  EXPECT_EXIT(end_after(SIGUSR2), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(end_after(SIGHUP), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(end_after(SIGINT), testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignal, ManyUsr2AreOne) {
  EXPECT_EXIT(end_with_flag_after({SIGUSR2, SIGUSR2, SIGUSR2, SIGTERM}), testing::ExitedWithCode(0),
              "");
}

TEST(StopSignal, ASecondInterruptEndsAtOnce) {
  EXPECT_EXIT(end_with_flag_after({SIGINT, SIGINT}), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace dllaunch
