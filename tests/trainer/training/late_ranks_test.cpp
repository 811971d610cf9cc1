// The trainer on two real ranks, one slowed down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "support/json.hpp"
#include "tests/trainer/training/process_of_rank.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Json job_of(int epochs) {
  auto job = Json::parse(R"({
    "model": "lenet", "batch_size": 16, "validate_every": 0, "checkpoint": {"every_epochs": null},
    "dataset": {"kind": "synthetic", "images": 9600, "workers": 1}})");
  job["epochs"] = epochs;
  return job;
}

TEST(LateRanksOfDltrain, NamesADelayedRank) {
  if (run_program({"mpirun", "--version"}).exit_code != 0) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const auto config = (folder / "train.json").string();
  write_text(config, job_of(3).dump());
  RunningProgram ranks(
      on_ranks(2, {"env", "OMP_NUM_THREADS=1", std::string(DLLAUNCH_BIN_DIR) + "/dltrain",
                   "--config", config}));
  // Rank 1 is stopped three quarters of the time: more than other programs on the machine take from
  // rank 0.
  std::atomic<bool> over{false};
  std::thread holding([&] {
    pid_t held = 0;
    while (!over) {
      if (held == 0) held = process_of_rank(config, "1");
      if (held != 0) kill(held, SIGSTOP);
      std::this_thread::sleep_for(15ms);
      if (held != 0) kill(held, SIGCONT);
      std::this_thread::sleep_for(5ms);
    }
  });
  const auto ended = ranks.wait();
  over = true;
  holding.join();
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, testing::ContainsRegex("rank 1 on .*: computes [0-9.]+ x the median"));
  EXPECT_THAT(ended.output, testing::Not(HasSubstr("rank 0 on")));
  const auto events = events_of(folder / ".", "ranks");
  ASSERT_EQ(events.size(), 3u);
  // Other programs may hold up rank 0 as much in one epoch, not in all.
  const auto named =
      std::ranges::find_if(events, [](const Json& event) { return !event["stragglers"].empty(); });
  ASSERT_NE(named, events.end()) << events.back();
  EXPECT_EQ((*named)["ranks"], 2);
  ASSERT_EQ((*named)["slowest"].size(), 2u);
  ASSERT_EQ((*named)["stragglers"].size(), 1u) << *named;
  EXPECT_EQ((*named)["stragglers"][0]["rank"], 1);
  EXPECT_EQ((*named)["stragglers"][0]["cause"], "compute");
  EXPECT_GT((*named)["stragglers"][0]["delayed"], 0.0);
  EXPECT_EQ(events.back()["epoch"], 3);
}

}  // namespace
}  // namespace dllaunch
