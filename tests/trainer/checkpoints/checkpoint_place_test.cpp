#include "trainer/checkpoints/checkpoint_place.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "tests/trainer/checkpoints/sound_checkpoint.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

const ExchangeNames no_exchange = [](const fs::path&, const fs::path&) { return ENOSYS; };

/// Writes a complete checkpoint of step 7 under another name; its seed identifies it.
void write_as(const fs::path& directory, std::uint64_t seed) {
  const ScratchFolder folder;
  Checkpoint checkpoint = sound_checkpoint(7);
  checkpoint.seed = seed;
  ASSERT_TRUE(write_checkpoint(folder.path(), std::move(checkpoint), {.keep = 1}));
  fs::create_directories(directory.parent_path());
  fs::copy(folder / "step-00000007", directory, fs::copy_options::recursive);
}

std::uint64_t seed_of(const fs::path& directory) {
  const auto read = read_checkpoint(directory);
  return read ? read->seed : 0;
}

std::size_t names_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(CheckpointPlace, TemporaryNamesHaveTheGeneration) {
  EXPECT_EQ(temporary_name(0, "step-00000007"), ".tmp-step-00000007");
  EXPECT_EQ(temporary_name(3, "step-00000007"), ".tmp-3-step-00000007");
  for (const char* name : {".tmp-step-00000007", ".tmp-best", ".tmp-old-step-00000001", ".tmp-",
                           ".tmp-1-best", ".tmp-3-step-00000007"}) {
    EXPECT_TRUE(is_leftover(name, 3)) << name;
    EXPECT_TRUE(is_leftover(name, 0)) << name;
  }
  EXPECT_FALSE(is_leftover(".tmp-4-step-00000007", 3));
  EXPECT_TRUE(is_leftover(".tmp-4-step-00000007", 0));
  for (const char* name : {"step-00000007", "best", "tmp-3-x", ""}) {
    EXPECT_FALSE(is_leftover(name, 3)) << name;
    EXPECT_FALSE(is_leftover(name, 0)) << name;
  }
}

TEST(CheckpointPlace, GivesTheFinalName) {
  for (const ExchangeNames& exchange : {ExchangeNames(exchange_names), no_exchange}) {
    const ScratchFolder folder;
    write_as(folder / ".tmp-step-00000007", 1);
    ASSERT_TRUE(put_in_place(folder / ".tmp-step-00000007", folder / "step-00000007", exchange));
    EXPECT_EQ(seed_of(folder / "step-00000007"), 1u);
    EXPECT_EQ(names_in(folder.path()), 1u);
  }
}

TEST(CheckpointPlace, ReplacesAnExistingOneIfNamesCanBeSwapped) {
  const ScratchFolder folder;
  write_as(folder / "step-00000007", 1);
  write_as(folder / ".tmp-step-00000007", 2);
  ASSERT_TRUE(put_in_place(folder / ".tmp-step-00000007", folder / "step-00000007"));
  EXPECT_EQ(seed_of(folder / "step-00000007"), 2u);
  EXPECT_EQ(names_in(folder.path()), 1u);
}

TEST(CheckpointPlace, OtherwiseKeepsAValidOneAndReplacesADamagedOne) {
  const ScratchFolder folder;
  write_as(folder / "step-00000007", 1);
  write_as(folder / ".tmp-step-00000007", 2);
  ASSERT_TRUE(put_in_place(folder / ".tmp-step-00000007", folder / "step-00000007", no_exchange));
  EXPECT_EQ(seed_of(folder / "step-00000007"), 1u);
  EXPECT_EQ(names_in(folder.path()), 1u);

  fs::resize_file(folder / "step-00000007" / "model.safetensors", 10);
  write_as(folder / ".tmp-step-00000007", 3);
  ASSERT_TRUE(put_in_place(folder / ".tmp-step-00000007", folder / "step-00000007", no_exchange));
  EXPECT_EQ(seed_of(folder / "step-00000007"), 3u);
  EXPECT_EQ(names_in(folder.path()), 1u);
}

TEST(CheckpointPlace, ReportsFileSystemErrors) {
  const ScratchFolder folder;
  const auto placed = put_in_place(folder / "absent", folder / "step-00000007");
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().kind, ErrorKind::unavailable);
}

/// Both incarnations have passed the check. At no time is the name without a valid checkpoint, with
/// and without support by the file system.
TEST(CheckpointPlace, TwoIncarnationsAtOnceAlwaysLeaveAValidOne) {
  for (const ExchangeNames& exchange : {ExchangeNames(exchange_names), no_exchange}) {
    const ScratchFolder folder;
    const fs::path final = folder / "step-00000007";
    write_as(final, 9);
    std::atomic<bool> done = false;
    std::atomic<int> missing = 0;
    std::atomic<int> looks = 0;
    std::thread looker([&] {
      while (!done) {
        missing += fs::exists(final / "state.json") ? 0 : 1;
        ++looks;
      }
    });
    std::vector<std::thread> lives;
    std::atomic<int> failed = 0;
    for (int life = 1; life <= 2; ++life) {
      const fs::path own = folder / ("whole-" + std::to_string(life));
      write_as(own, static_cast<std::uint64_t>(life));
      lives.emplace_back([&, life, own] {
        for (int i = 0; i < 100; ++i) {
          const fs::path temporary = folder / temporary_name(life, "step-00000007");
          fs::copy(own, temporary, fs::copy_options::recursive);
          if (!put_in_place(temporary, final, exchange)) ++failed;
        }
      });
    }
    for (auto& life : lives) life.join();
    done = true;
    looker.join();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(missing, 0) << "of " << looks;
    EXPECT_GT(seed_of(final), 0u);
    EXPECT_EQ(names_in(folder.path()), 3u);
  }
}

/// Both write the first checkpoint of that step.
TEST(CheckpointPlace, TwoIncarnationsWritingTheFirstOneBothSucceed) {
  for (int i = 0; i < 50; ++i) {
    const ScratchFolder folder;
    const fs::path final = folder / "step-00000007";
    std::vector<std::thread> lives;
    std::atomic<int> failed = 0;
    for (int life = 1; life <= 2; ++life) {
      write_as(folder / temporary_name(life, "step-00000007"), static_cast<std::uint64_t>(life));
    }
    for (int life = 1; life <= 2; ++life) {
      lives.emplace_back([&, life] {
        const auto& exchange = i % 2 == 0 ? ExchangeNames(exchange_names) : no_exchange;
        const auto own = folder / temporary_name(life, "step-00000007");
        if (!put_in_place(own, final, exchange)) ++failed;
      });
    }
    for (auto& life : lives) life.join();
    EXPECT_EQ(failed, 0);
    EXPECT_GT(seed_of(final), 0u);
    EXPECT_EQ(names_in(folder.path()), 1u);
  }
}

}  // namespace
}  // namespace dllaunch
