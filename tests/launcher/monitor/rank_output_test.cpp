#include "launcher/monitor/rank_output.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "launcher/base/shown_line.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using Lines = std::vector<std::string>;

class RankOutputTest : public testing::Test {
 protected:
  void append(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name, std::ios::app | std::ios::binary) << text;
  }

  TemporaryFolder folder_;
};

TEST_F(RankOutputTest, RanksOfTwoNodesAreOneText) {
  append("rank-0000-n1.log", "hello\nloss 0.5\n");
  append("rank-0001-n2.log", "hello\nloss 0.4\n");
  append("mpirun.log", "not a rank\n");
  RankOutput output(folder_.path(), {});
  EXPECT_EQ(output.finish(), Lines({"ranks 0-1: hello", "[n1:0] loss 0.5", "[n2:1] loss 0.4"}));
}

TEST_F(RankOutputTest, OneLogANodeHasItsLabels) {
  append("n1.log", "  0: hello\n  1: hello\n  1: bye\nslurmstepd: error: x\n");
  append("n2.log", "300: hello\n");
  RankOutput output(folder_.path(), {});
  EXPECT_EQ(output.finish(),
            Lines({"ranks 0-1,300: hello", "[n1:1] bye", "[n1] slurmstepd: error: x"}));
}

TEST_F(RankOutputTest, WhatIsThereDoesNotWaitForMore) {
  append("rank-0000-n1.log", "zero\nhalf");
  append("rank-0001-n1.log", "zero\none\n");
  RankOutput output(folder_.path(), {});
  EXPECT_EQ(output.present(), Lines({"ranks 0-1: zero", "[n1:1] one"}));
  append("rank-0000-n1.log", " a line\n");
  EXPECT_EQ(output.finish(), Lines({"[n1:0] half a line"}));
}

TEST_F(RankOutputTest, OneRankAlone) {
  append("rank-0000-n1.log", "zero\n");
  append("rank-0001-n1.log", "one\nhalf");
  append("n9.log", "1: labelled\n0: other\n");
  RankOutput output(folder_.path(), {.only_rank = 1});
  EXPECT_EQ(output.finish(), Lines({"labelled", "one", "half"}));
}

TEST_F(RankOutputTest, SinceATime) {
  append("rank-0000-n1.log",
         "2026-11-24T05:00:00Z old\ndetails of old\n2026-11-24T06:00:00Z new\ndetails of new\n");
  append("n9.log", "1: 2026-11-24T05:00:00Z old\n1: 2026-11-24T07:00:00Z one\n");
  append("rank-0002-n1.log", "not written since\n");
  const auto long_ago =
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 9000);
  std::filesystem::last_write_time(folder_.path() + "/rank-0002-n1.log", long_ago);
  constexpr double six = 1'795'500'000;  // 2026-11-24 06:00:00 UTC
  RankOutput output(folder_.path(), {.since_s = six - 60});
  auto lines = output.finish();
  std::ranges::sort(lines);
  EXPECT_EQ(lines, Lines({"[n1:0] 2026-11-24T06:00:00Z new", "[n1:0] details of new",
                          "[n9:1] 2026-11-24T07:00:00Z one"}));
}

TEST_F(RankOutputTest, TheBatchScriptsWordsAreSlurms) {
  append("slurm-5.out", "srun: error: n1: task 1: Killed\n");
  append("rank-0000-n1.log", "alone\n");
  RankOutput output(folder_.path(), {.several = false, .extra = {folder_.path() + "/slurm-5.out"}});
  EXPECT_EQ(output.finish(), Lines({"alone", "[slurm] srun: error: n1: task 1: Killed"}));
}

TEST_F(RankOutputTest, OnlyWhatIsNewWhereTheOldIsAnothers) {
  append("rank-0000-n1.log", "old\n");
  RankOutput output(folder_.path(), {.skip_present = true, .several = false});
  append("rank-0000-n1.log", "new\n");
  append("rank-0001-n1.log", "late\n");
  EXPECT_EQ(output.finish(), Lines({"new", "late"}));
}

TEST_F(RankOutputTest, AProgressBarIsShownNowAndThen) {
  append("rank-0000-n1.log", "\r  0%\r 10%");
  RankOutput output(folder_.path(), {.several = false});
  EXPECT_EQ(output.poll(100), Lines());
  append("rank-0000-n1.log", "\r 20%");
  EXPECT_EQ(output.poll(105), Lines());
  EXPECT_EQ(output.poll(111), Lines({" 20%"}));
  append("rank-0000-n1.log", "\r100%\n");
  EXPECT_EQ(output.poll(112), Lines({"100%"}));
}

// Whatever pieces a file grows in, each rank's lines are the same, in order, whole.
TEST_F(RankOutputTest, AnyChunkingGivesTheSameLines) {
  const int rounds = full_tier() ? 1000 : 80;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937 random(static_cast<unsigned>(round));
    const std::string folder = folder_.path() + "/" + std::to_string(round);
    std::filesystem::create_directories(folder);
    constexpr std::string_view alphabet = "ab\n\r\x1b[\xff:0 ";
    std::string text;
    for (auto i = random() % 200; i > 0; --i) text += alphabet[random() % alphabet.size()];

    const std::string name = "/rank-0000-n1.log";
    std::ofstream(folder + "/whole.txt", std::ios::binary) << text;
    LineTail whole(folder + "/whole.txt");
    Lines expected;
    for (const auto& line : whole.read()) expected.push_back(shown_line(line));
    if (const auto rest = whole.take_rest(); !rest.empty()) expected.push_back(shown_line(rest));

    RankOutput output(folder, {.several = false});
    Lines lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = 1 + random() % 20;
      std::ofstream(folder + name, std::ios::app | std::ios::binary) << text.substr(at, length);
      at += length;
      const auto more = output.poll(0);
      lines.insert(lines.end(), more.begin(), more.end());
    }
    const auto more = output.finish();
    lines.insert(lines.end(), more.begin(), more.end());
    ASSERT_EQ(lines, expected) << "seed " << round;
  }
}

TEST_F(RankOutputTest, ALongLogIsReadInPieces) {
  {
    std::ofstream log(folder_.path() + "/rank-0000-n1.log");
    for (int i = 0; i < 200000; ++i) log << "a line of some length with a number " << i << "\n";
  }
  RankOutput output(folder_.path(), {.several = false});
  std::size_t count = output.poll(1).size();
  EXPECT_TRUE(output.behind());
  EXPECT_LT(count, 150000u);
  while (output.behind()) count += output.poll(1).size();
  do {
    count += output.finish().size();
  } while (output.behind());
  EXPECT_EQ(count, 200000u);
}

// However short the lines are, what is held at a time is bounded.
TEST_F(RankOutputTest, WhatIsLeftComesInPartsOfBoundedSize) {
  for (const std::string line : {"y\n", "a line of a usual length, as a program prints it\n"}) {
    std::string text;
    // As strings, all lines together would be several times the bound below.
    const std::size_t size = line.size() < sizeof(std::string) ? 2 << 20 : std::size_t{16} << 20;
    while (text.size() < size) text += line;
    for (const bool several : {false, true}) {
      const TemporaryFolder folder;
      std::ofstream(folder.path() + "/rank-0000-n1.log") << text;
      RankOutput output(folder.path(), {.several = several});
      std::size_t count = 0;
      std::size_t most_bytes = 0;
      do {
        const auto part = output.finish();
        std::size_t bytes = part.capacity() * sizeof(std::string);
        for (const auto& each : part) bytes += each.size();
        most_bytes = std::max(most_bytes, bytes);
        count += part.size();
      } while (output.behind());
      EXPECT_EQ(count, text.size() / line.size());
      EXPECT_LT(most_bytes, std::size_t{12} << 20) << line;
    }
  }
}

}  // namespace
}  // namespace dllaunch
