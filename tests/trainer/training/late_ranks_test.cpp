// The trainer on two real ranks, one slowed down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/json.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Json job_of(int epochs) {
  auto job = Json::parse(R"({
    "model": "lenet", "batch_size": 16, "validate_every": 0, "checkpoint": {"every_epochs": null},
    "dataset": {"kind": "synthetic", "images": 4800, "workers": 1}})");
  job["epochs"] = epochs;
  return job;
}

TEST(LateRanksOfDltrain, NamesADelayedRank) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  if (under_a_sanitizer()) GTEST_SKIP() << "a sanitizer's library must be the first preloaded one";
  const ScratchFolder folder;
  const auto config = (folder / "train.json").string();
  write_text(config, job_of(3).dump());
  const auto ended = run_program(
      on_ranks(2, {"sh", "-c",
                   "[ $OMPI_COMM_WORLD_RANK = 0 ] || export LD_PRELOAD=\"$2\"; "
                   "OMP_NUM_THREADS=1 exec \"$0\" --config \"$1\"",
                   std::string(DLLAUNCH_BIN_DIR) + "/dltrain", config, DLLAUNCH_SLOW_COMPUTE}));
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
