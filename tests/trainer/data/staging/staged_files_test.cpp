#include "trainer/data/staging/staged_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder, int* ticks = nullptr) {
  auto files = list_files(folder, [ticks] {
    if (ticks != nullptr) ++*ticks;
  });
  if (!files) return {files.error().what};
  std::vector<std::string> names;
  for (const auto& file : *files) names.push_back(file.name);
  return names;
}

TEST(StagedFiles, IncludeEmptyFolders) {
  const ScratchFolder folder;
  write_text(folder / "b/2", "two");
  write_text(folder / "a.txt", "");
  fs::create_directories(folder / "empty/deeper");
  EXPECT_THAT(names_in(folder.path()),
              ElementsAre("a.txt", "b/", "b/2", "empty/", "empty/deeper/"));
}

TEST(StagedFiles, FollowLinksAndIgnoreBrokenOnes) {
  const ScratchFolder folder;
  write_text(folder / "elsewhere/1", "one");
  fs::create_directories(folder / "data");
  fs::create_directory_symlink(folder / "elsewhere", folder / "data/link");
  fs::create_symlink(folder / "gone", folder / "data/dangling");
  fs::create_symlink("itself", folder / "data/itself");
  EXPECT_THAT(names_in(folder / "data"), ElementsAre("link/", "link/1"));
}

TEST(StagedFiles, KeyDependsOnNamesSizesAndTimes) {
  const std::vector<StagedFile> files{{"a/"}, {"a/1", 3, 5}};
  EXPECT_EQ(key_of(files), key_of({{"a/"}, {"a/1", 3, 5}}));
  EXPECT_NE(key_of(files), key_of({{"a/"}, {"a/2", 3, 5}}));
  EXPECT_NE(key_of(files), key_of({{"a/"}, {"a/1", 4, 5}}));
  EXPECT_NE(key_of(files), key_of({{"a/"}, {"a/1", 3, 6}}));
  EXPECT_NE(key_of(files), key_of({{"a/1", 3, 5}}));
  EXPECT_TRUE(same_names_and_sizes(files, {{"a/"}, {"a/1", 3, 6}}));
  EXPECT_FALSE(same_names_and_sizes(files, {{"a/"}, {"a/1", 4, 5}}));
  EXPECT_FALSE(same_names_and_sizes(files, {{"a/"}}));
}

/// Waiting processes time out if listing or removing shows no progress.
TEST(StagedFiles, EveryEntryCallsTick) {
  const ScratchFolder folder;
  for (int i = 0; i < 50; ++i) {
    write_text(folder / ("data/" + std::to_string(i % 5)) / std::to_string(i), "x");
  }
  write_text(folder / "kept", "x");
  fs::create_symlink(folder / "kept", folder / "data/link");
  int ticks = 0;
  EXPECT_EQ(names_in(folder / "data", &ticks).size(), 56u);
  EXPECT_EQ(ticks, 56);
  remove_tree(folder / "data", [&] { ++ticks; });
  EXPECT_EQ(ticks, 112);
  EXPECT_FALSE(fs::exists(folder / "data"));
  EXPECT_TRUE(fs::exists(folder / "kept"));
}

}  // namespace
}  // namespace dllaunch
