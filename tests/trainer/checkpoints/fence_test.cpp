// A run directory that is taken over during the training.
#include "trainer/checkpoints/fence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <map>
#include <thread>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const RunOwner later = {.host = "n3", .pid = 5, .job = "17"};

TEST(Fence, StaysOpenWithoutAGeneration) {
  Fence fence;
  EXPECT_EQ(fence.fencing_token(), 0);
  EXPECT_TRUE(fence.check());
  EXPECT_TRUE(fence.may_write());
  EXPECT_FALSE(fence.closed());
}

TEST(Fence, ChecksAtMostOncePerSecondAndStaysClosed) {
  const ScratchFolder run;
  ASSERT_TRUE(RunOwnership::take(run.path(), {.host = "n1"}));
  Fence fence(RunOwnership::told(run.path(), 1));
  EXPECT_EQ(fence.fencing_token(), 1);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(fence.may_write());
  ASSERT_TRUE(RunOwnership::take(run.path(), later));
  const bool still = fence.may_write();
  if (std::chrono::steady_clock::now() - before < std::chrono::seconds(1)) {
    EXPECT_TRUE(still) << "checked less than a second ago";
    EXPECT_FALSE(fence.closed());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  EXPECT_FALSE(fence.may_write());
  ASSERT_TRUE(fence.closed());
  EXPECT_THAT(fence.closed()->what,
              HasSubstr("taken over by job 17 on n3 (fencing token 2, ours is 1"));
  fs::remove_all(run / ".lease");
  EXPECT_FALSE(fence.check());
  EXPECT_FALSE(fence.may_write());
}

TEST(Fence, CheckIsImmediate) {
  const ScratchFolder run;
  Fence fence(RunOwnership::told(run.path(), 1));
  EXPECT_TRUE(fence.check());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(RunOwnership::take(run.path(), later));
  EXPECT_FALSE(fence.check());
  EXPECT_FALSE(fence.may_write());
}

TEST(Fence, AnUnresponsiveFileSystemRefusesOnlyChecks) {
  const ScratchFolder run;
  write_text(run / ".lease", "no folder");
  Fence fence(RunOwnership::told(run.path(), 1));
  EXPECT_EQ(fence.check().error().kind, ErrorKind::unavailable);
  EXPECT_TRUE(fence.may_write());
  EXPECT_FALSE(fence.closed());
}

TEST(Fence, MayNotWriteOnTheAnswerOfACheckUnderWay) {
  std::latch under_way(1);
  std::latch answered(1);
  std::atomic<int> asked = 0;
  Fence fence(1, [&]() -> Result<Ok> {
    if (++asked == 1) {
      under_way.count_down();
      answered.wait();
    }
    return Error{ErrorKind::unsatisfiable, "taken over", ""};
  });
  std::thread slow([&] { EXPECT_FALSE(fence.check()); });
  under_way.wait();
  EXPECT_FALSE(fence.may_write());
  answered.count_down();
  slow.join();
}

/// Returns size and modification time of everything with a final name.
std::map<std::string, std::string> state_of(const fs::path& run_dir) {
  std::map<std::string, std::string> state;
  for (const auto& entry : fs::recursive_directory_iterator(run_dir)) {
    const std::string path = fs::relative(entry.path(), run_dir).string();
    if (path.find("/.tmp-") != std::string::npos || path.starts_with(".lease")) continue;
    // A folder's time changes with temporary names in it.
    if (entry.is_directory()) {
      state[path] = "folder";
      continue;
    }
    state[path] = std::to_string(entry.file_size()) + " " +
                  std::to_string(entry.last_write_time().time_since_epoch().count());
  }
  return state;
}

struct Life {
  TrainReport report;
  std::map<std::string, std::string> at_take_over, at_end;
};

bool is_writing(const fs::path& checkpoints) {
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    if (entry.path().filename().string().starts_with(".tmp-")) return true;
  }
  return false;
}

/// Takes the run over after `step`; the training notices at once. `meanwhile`: during the write of
/// a checkpoint.
Life taken_over_after(std::int64_t step, bool meanwhile, const TrainConfig& config,
                      const fs::path& run_dir) {
  auto communicator = *open_communicator("solo", RankEnv{});
  fs::create_directories(run_dir);
  EXPECT_TRUE(RunOwnership::take(run_dir, {.host = "n1"}));
  Fence fence(RunOwnership::told(run_dir, 1));
  Life life;
  TrainOptions options;
  options.prepare = {.config = config, .run_dir = run_dir, .threads = 1, .fence = &fence};
  options.on_step = [&](const StepReport& done) {
    if (done.step != step) return;
    for (int i = 0; i < 500 && is_writing(run_dir / "checkpoints") != meanwhile; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_TRUE(RunOwnership::take(run_dir, later));
    EXPECT_FALSE(fence.check());
    life.at_take_over = state_of(run_dir);
  };
  auto report = train(options, *communicator);
  EXPECT_TRUE(report);
  if (report) life.report = *std::move(report);
  life.at_end = state_of(run_dir);
  return life;
}

TEST(FencedTraining, StopsAndWritesNothingMore) {
  auto config = small_config("reference");
  config.epochs = 4;
  const ScratchFolder folder;
  // Within an epoch, at its end (CSV, TensorBoard, validation, checkpoint), and at the very end.
  for (const int step : {10, 14, 28}) {
    const auto run = folder / std::to_string(step);
    const Life life = taken_over_after(step, /*meanwhile=*/false, config, run);
    EXPECT_EQ(life.report.status, TrainStatus::taken_over);
    ASSERT_TRUE(life.report.error);
    EXPECT_EQ(life.report.error->what,
              "run directory was taken over by job 17 on n3 (fencing token 2, ours is 1)");
    EXPECT_EQ(life.at_end, life.at_take_over) << step;
    EXPECT_FALSE(life.at_end.empty());
    EXPECT_TRUE(events_of(run, "end").empty());
    EXPECT_TRUE(fs::exists(run / "checkpoints" / "step-00000007"));
    for (const auto& entry : fs::directory_iterator(run / "checkpoints")) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
    }
  }
}

/// The writer thread also notices, and does not report a disk error.
TEST(FencedTraining, ACheckpointInProgressGetsNoFinalName) {
  auto config = small_config("reference");
  config.epochs = 4;
  config.checkpoint.mb_per_s = 0.1;  // the write would take five seconds
  config.checkpoint.stop_on_error = false;
  const ScratchFolder run;
  const Life life = taken_over_after(8, /*meanwhile=*/true, config, run.path());
  EXPECT_EQ(life.report.status, TrainStatus::taken_over);
  EXPECT_EQ(life.at_end, life.at_take_over);
  EXPECT_TRUE(fs::is_empty(run / "checkpoints"));
  EXPECT_TRUE(events_of(run.path(), "checkpoint_failed").empty());
}

TEST(FencedTraining, ALateOneTouchesNothing) {
  const ScratchFolder run;
  write_text(run / "checkpoints" / ".tmp-2-step-00000007" / "model.safetensors", "being written");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(RunOwnership::take(run.path(), later));
  Fence fence(RunOwnership::told(run.path(), 1));
  auto config = small_config("reference");
  config.resume = "none";
  auto communicator = *open_communicator("solo", RankEnv{});
  TrainOptions options;
  options.prepare = {.config = config, .run_dir = run.path(), .threads = 1, .fence = &fence};
  auto report = train(options, *communicator);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->status, TrainStatus::taken_over);
  EXPECT_FALSE(fs::exists(run / "events.jsonl"));
  EXPECT_EQ(read_text(run / "checkpoints" / ".tmp-2-step-00000007" / "model.safetensors"),
            "being written");
}

TEST(FencedTraining, EveryLineCarriesTheGeneration) {
  const ScratchFolder run;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(RunOwnership::take(run.path(), later));
  Fence fence(RunOwnership::told(run.path(), 3));
  auto communicator = *open_communicator("solo", RankEnv{});
  TrainOptions options;
  options.prepare = {
      .config = small_config("reference"), .run_dir = run.path(), .threads = 1, .fence = &fence};
  auto report = train(options, *communicator);
  ASSERT_TRUE(report && report->status == TrainStatus::completed);
  std::istringstream lines(read_text(run / "events.jsonl"));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(Json::parse(line)["generation"], 3) << line;
  }
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace dllaunch
