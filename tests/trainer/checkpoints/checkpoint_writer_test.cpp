#include "trainer/checkpoints/checkpoint_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/checkpoints/size_limit.hpp"
#include "tests/trainer/checkpoints/sound_checkpoint.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Clock = CheckpointWriter::Clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Checkpoint of_megabytes(std::int64_t step, std::size_t megabytes) {
  Checkpoint checkpoint = sound_checkpoint(step);
  checkpoint.weights.tensors[0].shape = {static_cast<std::int64_t>(megabytes) << 18};
  checkpoint.weights.tensors[0].data.assign(megabytes << 20, std::byte{42});
  return checkpoint;
}

TEST(CheckpointWriter, ReportsEachWriteOnce) {
  const ScratchFolder folder;
  CheckpointWriter writer({.folder = folder.path()});
  EXPECT_TRUE(writer.wait());
  EXPECT_FALSE(writer.take());
  Checkpoint checkpoint = sound_checkpoint(9);
  checkpoint.metrics = {{"val_loss", 0.5}};
  writer.begin(std::move(checkpoint), Clock::now());
  EXPECT_TRUE(writer.wait());
  EXPECT_FALSE(writer.busy());
  const auto finished = writer.take();
  ASSERT_TRUE(finished && finished->written) << finished->written.error().what;
  EXPECT_EQ(finished->written->path, folder / "step-00000009");
  EXPECT_EQ(finished->epoch, 2);
  EXPECT_EQ(finished->step, 9);
  EXPECT_EQ(finished->metrics.at("val_loss"), 0.5);
  EXPECT_GT(finished->seconds_blocked, 0);
  EXPECT_LT(finished->seconds_blocked, finished->seconds_total);
  EXPECT_TRUE(read_checkpoint(finished->written->path));
  EXPECT_FALSE(writer.take());
}

TEST(CheckpointWriter, LimitsTheRateUntilTrainingWaits) {
  const ScratchFolder folder;
  CheckpointWriter writer({.folder = folder.path(), .bytes_per_s = 1 << 20});
  const auto start = Clock::now();
  writer.begin(of_megabytes(1, 60), start);
  EXPECT_LT(seconds_since(start), 20) << "the write continues in the background";
  const auto written = folder / ".tmp-step-00000001" / "model.safetensors";
  while (!fs::exists(written) && seconds_since(start) < 20)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(writer.busy());
  EXPECT_FALSE(fs::exists(folder / "step-00000001"));
  EXPECT_LT(fs::file_size(written), 30u << 20);
  EXPECT_TRUE(writer.wait());
  EXPECT_LT(seconds_since(start), 55) << "60 MiB at the limit take a minute";
  EXPECT_TRUE(writer.take()->written);
}

TEST(CheckpointWriter, KeepsTheRateLimit) {
  const ScratchFolder folder;
  CheckpointWriter writer({.folder = folder.path(), .bytes_per_s = 20 << 20});
  const auto start = Clock::now();
  writer.begin(of_megabytes(1, 10), start);
  while (writer.busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(seconds_since(start), 0.5);
  EXPECT_GE(writer.take()->seconds_total, 0.5);
}

TEST(CheckpointWriter, WaitsNoLongerThanGiven) {
  const ScratchFolder folder;
  // However late this thread comes to its wait, the write goes on until then.
  CheckpointWriter writer({.folder = folder.path(), .bytes_per_s = 1 << 20});
  writer.begin(of_megabytes(1, 40), Clock::now());
  EXPECT_FALSE(writer.wait(0.0));
  EXPECT_TRUE(writer.wait(60.0));
}

TEST(CheckpointWriter, CompletesTheCheckpointAtTheEnd) {
  const ScratchFolder folder;
  {
    CheckpointWriter writer({.folder = folder.path(), .bytes_per_s = 1000});
    writer.begin(of_megabytes(5, 2), Clock::now());
  }
  EXPECT_TRUE(read_checkpoint(folder / "step-00000005"));
}

TEST(CheckpointWriter, ReportsAFullDiskAndTriesAgain) {
  const ScratchFolder folder;
  CheckpointWriter writer({.folder = folder.path()});
  writer.begin(sound_checkpoint(1), Clock::now());
  writer.wait();
  ASSERT_TRUE(writer.take()->written);
  {
    const SizeLimit full(1 << 16);
    writer.begin(of_megabytes(2, 1), Clock::now());
    writer.wait();
  }
  const auto failed = writer.take();
  ASSERT_FALSE(failed->written);
  EXPECT_EQ(failed->step, 2);
  EXPECT_THAT(failed->written.error().what, testing::HasSubstr("File too large"));
  EXPECT_FALSE(fs::exists(folder / ".tmp-step-00000002"));
  EXPECT_EQ(find_newest_checkpoint(folder.path()).found->path, folder / "step-00000001");
  writer.begin(sound_checkpoint(3), Clock::now());
  writer.wait();
  EXPECT_TRUE(writer.take()->written);
}

/// The training thread's calls, to be checked by ThreadSanitizer.
TEST(CheckpointWriter, WritesManyInARow) {
  const ScratchFolder folder;
  CheckpointWriter writer({.folder = folder.path(), .retention = {.keep = 2, .best = "loss"}});
  int finished = 0;
  for (int step = 1; step <= 30; ++step) {
    writer.wait(60.0);
    if (const auto earlier = writer.take()) finished += earlier->written ? 1 : 0;
    Checkpoint checkpoint = sound_checkpoint(step);
    checkpoint.metrics = {{"loss", step % 7}};
    writer.begin(std::move(checkpoint), Clock::now());
    for (int i = 0; i < 100 && writer.busy(); ++i) std::this_thread::yield();
  }
  writer.wait();
  finished += writer.take()->written ? 1 : 0;
  EXPECT_EQ(finished, 30);
  const auto steps = list_checkpoints(folder.path());
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[2], folder / "step-00000007");
}

}  // namespace
}  // namespace dllaunch
