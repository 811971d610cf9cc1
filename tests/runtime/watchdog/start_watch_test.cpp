#include "runtime/watchdog/start_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dllaunch {
namespace {

void sleep_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

TEST(StartWatch, IsSilentIfTheRanksStart) {
  std::atomic<int> heard{0};
  {
    const StartWatch watch({.stall_seconds = 10,
                            .stall_abort_seconds = 20,
                            .say = [&](const std::string&) { ++heard; },
                            .give_up = [&](const std::string&) { ++heard; }});
    sleep_ms(20);
  }
  EXPECT_EQ(heard, 0);
}

TEST(StartWatch, ReportsAtGrowingIntervalsAndThenGivesUp) {
  std::mutex mutex;
  std::vector<std::string> said;
  std::atomic<bool> over{false};
  {
    const StartWatch watch({.stall_seconds = 0.1,
                            .stall_abort_seconds = 1,
                            .say =
                                [&](const std::string& line) {
                                  const std::lock_guard<std::mutex> lock(mutex);
                                  said.push_back(line);
                                },
                            .give_up =
                                [&](const std::string& why) {
                                  const std::lock_guard<std::mutex> lock(mutex);
                                  said.push_back(why);
                                  over = true;
                                }});
    for (int i = 0; i < 1000 && !over; ++i) sleep_ms(10);
  }
  ASSERT_EQ(said.size(), 5u) << "at 0.1, 0.2, 0.4, 0.8 and 1 s";
  EXPECT_EQ(said[0], "stall: has waited 0 s for all ranks to start (MPI_Init)");
  EXPECT_EQ(said[4], "not all ranks have started within 1 s (runtime.stall_abort_seconds)");
}

}  // namespace
}  // namespace dllaunch
