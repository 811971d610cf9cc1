#include "launcher/lint/unified_diff.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch::lint {
namespace {

TEST(UnifiedDiff, SaysNothingAboutNothing) {
  EXPECT_EQ(unified_diff("a", "x\n", "x\n"), "");
}

TEST(UnifiedDiff, ShowsAChangeWithItsNeighbours) {
  EXPECT_EQ(unified_diff("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            "--- a\n+++ a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, TellsOfAMissingNewline) {
  EXPECT_EQ(unified_diff("a", "1", "1\n"),
            "--- a\n+++ a\n@@ -1 +1 @@\n-1\n\\ No newline at end of file\n+1\n");
}

TEST(UnifiedDiff, EndsANameWithBlanks) {
  EXPECT_EQ(unified_diff("a b", "", "1\n"), "--- a b\t\n+++ a b\t\n@@ -0,0 +1 @@\n+1\n");
}

std::string random_lines(std::mt19937& random, const std::string& from) {
  std::string text;
  std::istringstream lines(from);
  for (std::string line; std::getline(lines, line);) {
    const auto what = random() % 12;
    if (what == 0) continue;
    if (what == 1) text += std::to_string(random() % 5) + "\n";
    text += line + "\n";
  }
  if (random() % 5 == 0) text += "last";
  return text;
}

TEST(UnifiedDiff, IsWhatPatchTakes) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  const std::string diff = folder.path() + "/diff";
  PosixSystem system(Console{});
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    std::string before;
    for (auto lines = random() % 60; lines > 0; --lines)
      before += std::to_string(random() % 9) + "\n";
    const std::string after = random_lines(random, before);
    const std::string text = unified_diff("file", before, after);
    if (text.empty()) continue;
    std::ofstream(file, std::ios::binary) << before;
    std::ofstream(diff, std::ios::binary) << text;
    // In one hunk or several, forwards and back.
    const auto there = system.run({"patch", "--quiet", file, diff}, std::chrono::seconds(20));
    ASSERT_TRUE(there);
    ASSERT_EQ(there->exit_code, 0) << there->out << text;
    std::ostringstream got;
    if (std::ifstream in(file, std::ios::binary); in.peek() != EOF) got << in.rdbuf();
    EXPECT_EQ(got.str(), after) << text;
  }
}

}  // namespace
}  // namespace dllaunch::lint
