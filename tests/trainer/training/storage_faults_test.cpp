// Checkpoints of the real program on failing storage, and of a killed program. DLLAUNCH_TEST_FULL=1
// kills it some hundred times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include <fmt/core.h>

#include "support/json.hpp"
#include "tests/support/crash_states.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string dltrain = std::string(DLLAUNCH_BIN_DIR) + "/dltrain";

Json small_job() {
  return Json::parse(R"({
    "name": "small", "device": "cpu", "model": "lenet", "backend": "reference", "batch_size": 16,
    "dataset": {"kind": "synthetic", "images": 100}, "epochs": 4,
    "optimizer": {"lr": 0.02, "momentum": 0.9}})");
}

/// Runs dltrain with checkpoints/ on a separate file system, and copies the content out afterwards.
class OwnFileSystem {
 public:
  OwnFileSystem(const ScratchFolder& folder, const Json& job, const std::string& mount_options) {
    write_text(folder / "run" / "train.json", job.dump());
    fs::create_directories(folder / "run" / "checkpoints");
    const std::string script = "mount -t tmpfs -o " + mount_options + " none '" +
                               (folder / "run/checkpoints").string() + "' || exit 99\n'" + dltrain +
                               "' --config '" + (folder / "run/train.json").string() +
                               "'\nstatus=$?\ncp -a '" + (folder / "run/checkpoints").string() +
                               "' '" + (folder / "kept").string() + "'\nexit $status\n";
    ended = run_program({"unshare", "-rm", "sh", "-c", script});
  }
  bool refused() const {
    return ended.exit_code == 99 || ended.exit_code == 1 + 126 ||
           ended.output.starts_with("unshare:");
  }
  RunningProgram::Ended ended;
};

void expect_sound(const fs::path& folder, std::int64_t step) {
  const auto search = find_newest_checkpoint(folder);
  ASSERT_TRUE(search.found);
  EXPECT_EQ(search.found->checkpoint.position.step, step);
  EXPECT_TRUE(search.refused.empty());
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("step-")) << entry.path();
  }
}

TEST(StorageFaults, AFullDiskStopsWithItsErrorAndKeepsWhatFits) {
  const ScratchFolder folder;
  // Space for two checkpoints of half a megabyte each.
  const OwnFileSystem run(folder, small_job(), "size=1200k");
  if (run.refused()) GTEST_SKIP() << "cannot mount: " << run.ended.output;
  EXPECT_EQ(run.ended.exit_code, 1) << run.ended.output;
  EXPECT_THAT(run.ended.output, HasSubstr("dltrain: error: cannot write "));
  EXPECT_THAT(run.ended.output, HasSubstr("No space left on device"));
  EXPECT_THAT(run.ended.output, HasSubstr("  try: free disk space"));
  EXPECT_EQ(events_of(folder / "run", "checkpoint_failed").at(0)["step"], 21);
  expect_sound(folder / "kept", 14);
}

TEST(StorageFaults, TrainingMayContinueOnAFullDisk) {
  const ScratchFolder folder;
  auto job = small_job();
  job["checkpoint"] = {{"on_error", "continue"}, {"keep", 1}};
  job["epochs"] = 6;
  // Space for one and a half: the old one is removed only after the new one is complete.
  const OwnFileSystem run(folder, job, "size=800k");
  if (run.refused()) GTEST_SKIP() << "cannot mount: " << run.ended.output;
  EXPECT_EQ(run.ended.exit_code, 1) << "the last checkpoint is missing\n" << run.ended.output;
  EXPECT_THAT(run.ended.output, HasSubstr("; training continues"));
  EXPECT_EQ(events_of(folder / "run", "epoch").size(), 6u);
  EXPECT_EQ(events_of(folder / "run", "checkpoint_failed").size(), 5u);
  expect_sound(folder / "kept", 7);
}

TEST(StorageFaults, ReadOnlyStorageIsNamed) {
  for (const char* on_error : {"stop", "continue"}) {
    const ScratchFolder folder;
    auto job = small_job();
    job["checkpoint"] = {{"on_error", on_error}};
    const OwnFileSystem run(folder, job, "ro");
    if (run.refused()) GTEST_SKIP() << "cannot mount: " << run.ended.output;
    EXPECT_EQ(run.ended.exit_code, 1) << run.ended.output;
    EXPECT_THAT(run.ended.output, HasSubstr("Read-only file system"));
    const auto epochs = events_of(folder / "run", "epoch").size();
    EXPECT_EQ(epochs, on_error == std::string("stop") ? 1u : 4u);
  }
}

/// A restarting server, or a temporary disk error: the resume waits for the newest checkpoint.
TEST(StorageFaults, ResumesACheckpointAfterTemporaryReadErrors) {
  if (DLLAUNCH_SANITIZED) GTEST_SKIP() << "a sanitizer's library must be the first preloaded one";
  for (const int error : {EIO, ESTALE}) {
    const ScratchFolder folder;
    auto job = small_job();
    job["epochs"] = 1;
    const auto run = folder / "run";
    const std::vector<std::string> train = {dltrain, "--config", (run / "train.json").string()};
    write_text(run / "train.json", job.dump());
    ASSERT_EQ(run_program(train).exit_code, 0);
    job["epochs"] = 2;
    write_text(run / "train.json", job.dump());
    std::vector<std::string> disturbed = {
        "env", "LD_PRELOAD=" + saboteur_in(folder.path()),
        "DLLAUNCH_FAIL=open /state.json " + std::to_string(error) + " 1 2"};
    disturbed.insert(disturbed.end(), train.begin(), train.end());
    const auto ended = run_program(disturbed);
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(std::strerror(error)));
    EXPECT_EQ(events_of(run, "epoch").size(), 2u) << "the first was not repeated";
  }
}

/// An unmounted file system leaves a folder of the same name.
TEST(StorageFaults, NothingIsWrittenIntoAnotherFolderOfItsName) {
  const ScratchFolder folder;
  auto job = small_job();
  job["dataset"]["images"] = 400;
  job["epochs"] = 100'000;
  job["checkpoint"] = {{"every_epochs", 100'000}};
  const auto run = folder / "run";
  const auto away = folder / "away";
  write_text(run / "train.json", job.dump());
  RunningProgram running({dltrain, "--config", (run / "train.json").string()});
  const auto happens = [](const auto& condition) {
    constexpr int patience_ms = 60'000;
    for (int ms = 0; ms < patience_ms && !condition(); ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
  };
  // An epoch's row is its last write: the next one comes an epoch later.
  ASSERT_TRUE(
      happens([&] { return read_text(run / "metrics.csv").find("\n1,") != std::string::npos; }));
  fs::rename(run, away);
  fs::create_directory(run);
  for (const char* file : {"classes.csv", "confusion.csv"}) EXPECT_TRUE(fs::exists(away / file));
  const auto before = events_of(away, "epoch").size();
  ASSERT_TRUE(happens([&] { return events_of(away, "epoch").size() > before + 2; }));
  EXPECT_TRUE(fs::is_empty(run));
  kill(running.pid(), SIGKILL);
  EXPECT_THAT(running.wait().output,
              HasSubstr("metrics.csv is incomplete from here on: cannot write into "));
}

int unfinished_checkpoints(const fs::path& checkpoints) {
  int count = 0;
  if (!fs::exists(checkpoints)) return count;
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    count += entry.path().filename().string().starts_with(".tmp-step") ? 1 : 0;
  }
  return count;
}

/// Killed at any moment: while it writes, syncs, renames or prunes. The newest checkpoint is valid
/// each time, and the repeatedly resumed training ends like an uninterrupted one.
TEST(StorageFaults, AKilledProcessLeavesAValidNewestCheckpoint) {
  const bool full = full_tier();
  const int kills = full ? 300 : 12;
  const ScratchFolder folder;
  auto job = small_job();
  job["dataset"]["images"] = 200;
  job["epochs"] = full ? 2000 : 40;
  job["checkpoint"] = {{"every_minutes", 1e-9}, {"keep", 2}, {"best", "loss"}};
  const auto file = folder / "run" / "train.json";
  std::mt19937 random(static_cast<unsigned>(
      std::chrono::steady_clock::now().time_since_epoch().count() % 1'000'000));
  std::int64_t step = 0;
  int killed = 0;
  int between = 0;  // kills during a write
  for (int i = 0; i < kills; ++i) {
    // Slow writes are mostly killed while writing, fast ones while syncing, renaming and removing.
    job["checkpoint"]["mb_per_s"] = i % 2 == 0 ? 4 : 200;
    write_text(file, job.dump());
    const auto events = folder / "run" / "events.jsonl";
    const auto before = read_text(events).size();
    // One third is killed in the first steps, the others while saving continuously.
    const std::string sign = i % 3 == 0 ? "\"start\"" : "\"checkpoint\"";
    RunningProgram running({dltrain, "--config", file.string()});
    const auto wait_until = [](const auto& condition) {
      for (int ms = 0; ms < 60'000 && !condition(); ++ms)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    wait_until([&] { return read_text(events).find(sign, before) != std::string::npos; });
    const auto checkpoints = folder / "run" / "checkpoints";
    // A machine may be too slow to be met writing by chance.
    if (i % 4 == 2) wait_until([&] { return unfinished_checkpoints(checkpoints) > 0; });
    if (i % 4 != 2) std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    kill(running.pid(), SIGKILL);
    killed += running.wait().exit_code == 128 + SIGKILL ? 1 : 0;
    if (!fs::exists(checkpoints)) continue;
    between += unfinished_checkpoints(checkpoints);
    const auto search = find_newest_checkpoint(checkpoints);
    ASSERT_TRUE(search.refused.empty()) << search.refused[0].path << search.refused[0].why;
    if (!search.found) continue;
    EXPECT_GE(search.found->checkpoint.position.step, step) << "went back";
    step = search.found->checkpoint.position.step;
  }
  EXPECT_GT(killed, kills / 2);
  EXPECT_GT(step, 0);
  EXPECT_GT(between, 0);
  std::printf("%d killed, %d of them while writing, at step %d\n", killed, between,
              static_cast<int>(step));

  const auto end_step = (step / 13 + 2) * 13;  // 13 steps per epoch
  job["max_steps"] = end_step;
  job["checkpoint"] = {{"keep", 9}};
  for (const char* run : {"run", "whole"}) {
    write_text(folder / run / "train.json", job.dump());
    const auto ended = run_program({dltrain, "--config", (folder / run / "train.json").string()});
    ASSERT_EQ(ended.exit_code, 0) << ended.output;
  }
  const auto last = fmt::format("step-{:08}", end_step);
  EXPECT_EQ(weights_at(folder / "run", last), weights_at(folder / "whole", last));
}

}  // namespace
}  // namespace dllaunch
