#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <numeric>
#include <thread>

#include "support/json.hpp"
#include "tests/trainer/checkpoints/sound_checkpoint.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(CheckpointWrite, WritesTheThreeFiles) {
  const ScratchFolder folder;
  auto written = write_checkpoint(folder / "checkpoints", sound_checkpoint(469), {.keep = 3});
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(written->path, folder / "checkpoints" / "step-00000469");
  EXPECT_EQ(names_in(written->path),
            (std::vector<std::string>{"model.safetensors", "optimizer.safetensors", "state.json"}));
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(written->path)) bytes += entry.file_size();
  EXPECT_EQ(written->bytes, bytes);
  EXPECT_EQ(names_in(folder / "checkpoints"), std::vector<std::string>{"step-00000469"});
}

TEST(CheckpointWrite, StateHasWhatOtherProgramsNeed) {
  const ScratchFolder folder;
  auto written = write_checkpoint(folder.path(), sound_checkpoint(469), {.keep = 3});
  const auto state = Json::parse(read_text(written->path / "state.json"));
  EXPECT_EQ(state["model"], "lenet");
  EXPECT_EQ(state["epoch"], 2);
  EXPECT_EQ(state["step"], 469);
  EXPECT_EQ(state["sampler"], (Json{{"epoch", 2}, {"position", 96}}));
  EXPECT_EQ(state["rng"]["seed"], 5);
  EXPECT_EQ(state["class_names"][0], "cat");
  EXPECT_EQ(state["normalization"]["mean"][0], 0.1);
  EXPECT_EQ(state["normalization"]["std"][0], 1.0 / 3);
  EXPECT_EQ(state["ranks"], 2);
  EXPECT_EQ(state["global_batch"], 64);
  EXPECT_EQ(state["checksums"].size(), 4u);
}

/// A class of images has the name of their folder.
TEST(CheckpointWrite, TakesClassNamesOfAnyBytes) {
  const ScratchFolder folder;
  auto checkpoint = sound_checkpoint(469);
  checkpoint.class_names = {"cat", "d\xffg"};
  auto written = write_checkpoint(folder.path(), checkpoint, {.keep = 3});
  ASSERT_TRUE(written);
  const auto state = Json::parse(read_text(written->path / "state.json"));
  EXPECT_EQ(state["class_names"][1], "d\ufffdg");
}

TEST(CheckpointWrite, KeepsTheNewest) {
  const ScratchFolder folder;
  for (const int step : {1, 2, 3, 4, 5}) {
    ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(step), {.keep = 2}));
  }
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000004", "step-00000005"}));
}

TEST(CheckpointWrite, KeepsTheNewOneDespiteAnAbandonedContinuation) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(30), {.keep = 1}));
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(25), {.keep = 1}));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"step-00000025", "step-00000030"}));
}

TEST(CheckpointWrite, ReplacesOneOfTheSameStep) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(7), {.keep = 3}));
  write_text(folder / "step-00000007" / "model.safetensors", "damaged");
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(7), {.keep = 3}));
  EXPECT_TRUE(read_checkpoint(folder / "step-00000007"));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000007"});
}

/// At any time during the replacement a reader sees the old or the new one.
TEST(CheckpointWrite, AReplacedOneIsNeverMissing) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(7), {.keep = 3}));
  std::atomic<bool> done = false;
  std::atomic<int> missing = 0;
  std::thread looker([&] {
    while (!done) missing += fs::exists(folder / "step-00000007" / "state.json") ? 0 : 1;
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(7), {.keep = 3}));
  }
  done = true;
  looker.join();
  EXPECT_EQ(missing, 0);
  EXPECT_TRUE(read_checkpoint(folder / "step-00000007"));
}

TEST(CheckpointWrite, AFileInTheWayIsReplaced) {
  const ScratchFolder folder;
  write_text(folder / "step-00000007", "a file");
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(7), {.keep = 3}));
  EXPECT_TRUE(read_checkpoint(folder / "step-00000007"));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000007"});
}

TEST(CheckpointWrite, RemovesWhatAnInterruptedWriteLeft) {
  const ScratchFolder folder;
  write_text(folder / ".tmp-step-00000009" / "model.safetensors", "half");
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(12), {.keep = 3}));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000012"});
}

TEST(CheckpointWrite, ReportsEveryByteInPiecesOfAMegabyte) {
  const ScratchFolder folder;
  Checkpoint large = sound_checkpoint(2);
  large.weights.tensors[0].shape = {1 << 20};
  large.weights.tensors[0].data.resize(std::size_t{4} << 20);
  std::vector<std::size_t> pieces;
  auto written = write_checkpoint(folder.path(), large, {.keep = 3},
                                  [&](std::size_t bytes) { pieces.push_back(bytes); });
  ASSERT_TRUE(written);
  EXPECT_EQ(std::reduce(pieces.begin(), pieces.end()), written->bytes);
  EXPECT_LE(std::ranges::max(pieces), std::size_t{1} << 20);
  EXPECT_GE(pieces.size(), 6u);
}

TEST(CheckpointWrite, RemovesLeftovers) {
  const ScratchFolder folder;
  write_text(folder / ".tmp-step-00000009" / "model.safetensors", "half");
  write_text(folder / ".tmp-old-step-00000001" / "state.json", "old");
  write_text(folder / "notes", "mine");
  remove_leftovers(folder.path());
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"notes"});
  remove_leftovers(folder / "absent");
}

/// The later incarnation cleans up while the earlier one, which has just passed the check,
/// finishes.
TEST(CheckpointWrite, CleanupByALaterIncarnationIsAtomic) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(7), {.keep = 3}));
  std::atomic<bool> done = false;
  std::thread later([&] {
    while (!done) remove_leftovers(folder.path(), /*fencing_token=*/2);
  });
  int placed = 0;
  for (int i = 0; i < 100; ++i) {
    const auto written = write_checkpoint(folder.path(), sound_checkpoint(7), {.keep = 3},
                                          [](std::size_t) {}, {.fencing_token = 1});
    placed += written ? 1 : 0;
    EXPECT_TRUE(read_checkpoint(folder / "step-00000007")) << i;
  }
  done = true;
  later.join();
  EXPECT_LT(placed, 100) << "nothing was cleaned up in time";
  remove_leftovers(folder.path(), 2);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000007"});
}

TEST(CheckpointWrite, ReportsFileSystemErrors) {
  const ScratchFolder folder;
  write_text(folder / "checkpoints", "a file");
  auto written = write_checkpoint(folder / "checkpoints", sound_checkpoint(1), {.keep = 3});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(written.error().what, testing::HasSubstr("Not a directory"));
}

/// Checked before the first byte, before the rename and before the retention.
TEST(CheckpointWrite, WithoutTheRightNoFinalNameChanges) {
  const Error taken{ErrorKind::unsatisfiable, "taken over", ""};
  for (int refused = 1; refused <= 3; ++refused) {
    const ScratchFolder folder;
    for (const int step : {1, 2, 3}) {
      ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(step), {.keep = 3}));
    }
    write_text(folder / ".tmp-9-step-00000005" / "model.safetensors", "of the one who took it");
    int asked = 0;
    const WriteRight right{.fencing_token = 8, .check = [&] {
                             return ++asked < refused ? Result<Ok>(Ok{}) : Result<Ok>(taken);
                           }};
    const auto written = write_checkpoint(
        folder.path(), sound_checkpoint(4), {.keep = 1}, [](std::size_t) {}, right);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().what, "taken over");
    std::vector<std::string> expected{".tmp-9-step-00000005", "step-00000001", "step-00000002",
                                      "step-00000003"};
    // Complete, and of the same run: harmless.
    if (refused == 3) expected.push_back("step-00000004");
    EXPECT_EQ(names_in(folder.path()), expected) << refused;
    EXPECT_TRUE(refused < 3 || read_checkpoint(folder / "step-00000004"));
  }
}

/// A file size limit fails a write midway, like a full disk.
TEST(CheckpointWrite, AFullDiskLeavesNothingNewBehind) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_checkpoint(folder.path(), sound_checkpoint(1), {.keep = 3}));
  Checkpoint large = sound_checkpoint(2);
  large.weights.tensors[0].shape = {1 << 18};
  large.weights.tensors[0].data.resize(std::size_t{4} << 18);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 1 << 18, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  auto written = write_checkpoint(folder.path(), large, {.keep = 3});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().what, testing::HasSubstr("model.safetensors: File too large"));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-00000001"});
}

}  // namespace
}  // namespace dllaunch
