#include "launcher/os/atomic_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AtomicFile, ReplacesWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/x.json";
  ASSERT_TRUE(write_file(path, "first"));
  ASSERT_TRUE(write_file(path, std::string(100'000, 'y')));
  EXPECT_EQ(text_of(path).size(), 100'000u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
  // A folder in its place cannot be replaced: it stays, and no temporary file does.
  fs::create_directory(folder.path() + "/taken");
  fs::create_directory(folder.path() + "/taken/inside");
  EXPECT_FALSE(write_file(folder.path() + "/taken", "x"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

TEST(AtomicFile, AppendedLinesAreWholeWhateverStoodThere) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/lines";
  ASSERT_TRUE(append_lines(path, "one\n"));
  std::ofstream(path, std::ios::app) << "torn";
  ASSERT_TRUE(append_lines(path, "two\n"));
  ASSERT_TRUE(append_lines(path, "three\n"));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "one\ntorn\ntwo\nthree\n");
  const auto refused = append_lines("/proc/nowhere/lines", "x\n");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unavailable);
}

}  // namespace
}  // namespace dllaunch
