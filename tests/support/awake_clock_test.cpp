#include "support/awake_clock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

struct Times {
  double awake = 0;
  double steady = 0;
  double paused = 0;
};

/// In a process of its own, which is stopped meanwhile: `work` begins, and returns once the pause
/// has been counted.
template <typename Work>
Times times_of_stopped(const Work& work) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const auto awake = AwakeClock::now();
    const auto steady = std::chrono::steady_clock::now();
    work([&] {
      if (write(ends[1], "", 1) != 1) _exit(1);
    });
    const Times times{.awake = Seconds(AwakeClock::now() - awake).count(),
                      .steady = Seconds(std::chrono::steady_clock::now() - steady).count(),
                      .paused = Seconds(AwakeClock::paused()).count()};
    _exit(write(ends[1], &times, sizeof times) == sizeof times ? 0 : 1);
  }
  char begun = 0;
  Times times;
  if (read(ends[0], &begun, 1) == 1) {
    kill(child, SIGSTOP);
    int status = 0;
    waitpid(child, &status, WUNTRACED);
    std::this_thread::sleep_for(AwakeClock::shortest_pause + 500ms);
    kill(child, SIGCONT);
    if (read(ends[0], &times, sizeof times) != sizeof times) times = {};
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  return times;
}

void expect_stood_still(const Times& times) {
  EXPECT_GT(times.paused, Seconds(AwakeClock::shortest_pause).count());
  EXPECT_NEAR(times.awake, times.steady - times.paused, 0.5);
}

TEST(AwakeClock, StandsStillWhileTheProcessIsStoppedInAWait) {
  expect_stood_still(times_of_stopped([](const auto& begin) {
    const AwakeClock::Wait wait(1ms);
    const auto began = std::chrono::steady_clock::now();
    begin();
    while (std::chrono::steady_clock::now() - began < AwakeClock::shortest_pause + 100ms)
      std::this_thread::sleep_for(5ms);
  }));
}

TEST(AwakeClock, AnotherThreadSeesThePauseNoLaterThanTheOneThatWaits) {
  expect_stood_still(times_of_stopped([](const auto& begin) {
    std::atomic<bool> over = false;
    std::thread waits([&] {
      const AwakeClock::Wait wait(1ms);
      begin();
      while (!over) std::this_thread::sleep_for(5ms);
    });
    auto before = AwakeClock::now();
    const auto give_up_at = std::chrono::steady_clock::now() + 60s;
    while (AwakeClock::paused() == 0s && std::chrono::steady_clock::now() < give_up_at) {
      const auto now = AwakeClock::now();
      if (now < before || now - before > AwakeClock::shortest_pause) _exit(1);
      before = now;
    }
    over = true;
    waits.join();
  }));
}

TEST(AwakeClock, RunsWhileNobodyPromisesToWaitBriefly) {
  const auto before = AwakeClock::paused();
  const auto awake = AwakeClock::now();
  const auto steady = std::chrono::steady_clock::now();
  { const AwakeClock::Wait wait(1h); }
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(AwakeClock::paused(), before);
  EXPECT_NEAR(Seconds(AwakeClock::now() - awake).count(),
              Seconds(std::chrono::steady_clock::now() - steady).count(), 1);
}

}  // namespace
}  // namespace dllaunch
