// What goes wrong in a pipeline names the rank and the layer, on real ranks under mpirun; its
// timeline shows the schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "support/json.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "tests/trainer/training/process_of_rank.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// 8 steps of 8 micro-batches, in two stages.
Json staged_job() {
  return Json::parse(R"({
    "model": {"layers": [
      {"kind": "conv2d", "channels": 4, "kernel": 3, "stride": 2}, "flatten",
      {"kind": "dense", "units": 16}, {"kind": "dense", "units": "classes"}]},
    "backend": "reference", "batch_size": 2, "accumulate": 8, "epochs": 1, "validate_every": 0,
    "dataset": {"kind": "synthetic", "images": 128, "image_size": 12, "workers": 1},
    "optimizer": {"lr": 0.01},
    "runtime": {"pipeline": {"stages": 2, "cut": ["flatten1"]},
                "stall_seconds": 5, "stall_abort_seconds": 20}})");
}

std::vector<std::string> command(const std::filesystem::path& folder, const Json& job) {
  const std::string config = (folder / "train.json").string();
  write_text(config, job.dump());
  return on_ranks(2, {std::string(DLLAUNCH_BIN_DIR) + "/dltrain", "--config", config});
}

TEST(StagesInTrouble, TheStageWithTheFirstNonFiniteValueIsNamed) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  Json job = staged_job();
  for (const auto& [lr, where] : {std::pair(1e39, "on rank 0 at step 2 (epoch 1): conv2d1 is"),
                                  {1e28, "on rank 1 at step 2 (epoch 1): dense1 is"}}) {
    job["optimizer"]["lr"] = lr;
    const auto ended = run_program(command(folder / "run", job));
    EXPECT_EQ(ended.exit_code, 1) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(where));
  }
}

/// The same network with a split layer in place of stages.
Json split_job() {
  Json job = staged_job();
  job["runtime"].erase("pipeline");
  job["runtime"]["split_dense"] = {"dense1"};
  return job;
}

TEST(StagesInTrouble, AStoppedRankIsNamedWhereverItStands) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  for (const auto& [stopped, is_split] : {std::pair("0", false), {"1", false}, {"1", true}}) {
    if (stopped == std::string("1") && !full_tier()) continue;
    const ScratchFolder folder;
    Json job = is_split ? split_job() : staged_job();
    job["epochs"] = 1'000'000;
    job["runtime"]["stall_seconds"] = 1;
    job["runtime"]["stall_abort_seconds"] = 15;  // the start has to fit too
    RunningProgram program(command(folder / "run", job));
    for (int i = 0; i < 9000 && !std::filesystem::exists(folder / "run/checkpoints"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const pid_t held = process_of_rank((folder / "run/train.json").string(), stopped);
    ASSERT_GT(held, 0);
    kill(held, SIGSTOP);
    const auto ended = program.wait();
    EXPECT_NE(ended.exit_code, 0);
    EXPECT_THAT(ended.output, testing::ContainsRegex("stall: .*rank " + std::string(stopped) +
                                                     " on [^\n]*is stopped [^\n]*; gave up"));
  }
}

/// Returns "F1 F2 B1 ...": the passes of `step` on the training thread's track.
std::string passes_of(const std::filesystem::path& timeline, int step) {
  const Json trace = Json::parse(read_text(timeline));
  std::vector<std::pair<double, std::string>> passes;
  for (const Json& span : trace["traceEvents"]) {
    const std::string name = span.value("name", "");
    const bool forward = name.starts_with("FORWARD");
    if (!forward && !name.starts_with("BACKWARD")) continue;
    if (span["args"]["step"] != step) continue;
    passes.emplace_back(span["ts"], (forward ? "F" : "B") +
                                        std::to_string(span["args"]["number"].get<int>()) + " ");
  }
  std::ranges::sort(passes);
  std::string text;
  std::string latest;
  for (const auto& [time, pass] : passes) {
    if (pass != latest) text += pass;  // a wait for the other stage divides it
    latest = pass;
  }
  return text;
}

TEST(StagesInTrouble, TheTimelineShowsTheirSchedule) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  Json job = staged_job();
  job["runtime"]["timeline"] = true;
  const auto ended = run_program(command(folder / "run", job));
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_EQ(passes_of(folder / "run/timeline/rank-00000.json", 4),
            "F1 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 F8 B7 B8 ");
  EXPECT_EQ(passes_of(folder / "run/timeline/rank-00001.json", 4),
            "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 F8 B8 ");
  for (const char* rank : {"0", "1"}) {
    EXPECT_THAT(read_text(folder / ("run/timeline/rank-0000" + std::string(rank) + ".json")),
                HasSubstr("WAIT_FOR_STAGE"));
  }
}

}  // namespace
}  // namespace dllaunch
