#include "launcher/monitor/line_merger.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace dllaunch {
namespace {

using Lines = std::vector<std::string>;

TEST(LineMerger, EqualLinesOfSeveralRanksComeOnce) {
  LineMerger merger;
  for (int rank = 0; rank < 8; ++rank) merger.take(rank, "n1", "loading", 0.01 * rank);
  merger.take(3, "n1", "rank three has more to say", 0.1);
  EXPECT_EQ(merger.ripe(0.2), Lines());
  EXPECT_EQ(merger.ripe(0.35), Lines({"ranks 0-7: loading"}));
  EXPECT_EQ(merger.ripe(0.45), Lines({"[n1:3] rank three has more to say"}));
}

TEST(LineMerger, ARepeatedLineIsNotLost) {
  LineMerger merger;
  for (const int rank : {0, 0, 1, 1, 1}) merger.take(rank, "n1", "tick", 0);
  EXPECT_EQ(merger.rest(), Lines({"ranks 0-1: tick", "ranks 0-1: tick", "[n1:1] tick"}));
}

TEST(LineMerger, TheOrderOfARankStays) {
  LineMerger merger;
  merger.take(0, "n1", "b", 0);
  merger.take(1, "n2", "a", 0);
  merger.take(1, "n2", "b", 0);
  merger.take(0, "n1", "a", 0);
  // Rank 1's b does not meet rank 0's: it came after rank 1's a.
  EXPECT_EQ(merger.rest(), Lines({"[n1:0] b", "ranks 0-1: a", "[n2:1] b"}));
}

TEST(LineMerger, LateOnesStandAlone) {
  LineMerger merger;
  merger.take(0, "n1", "done", 0);
  EXPECT_EQ(merger.ripe(0.3), Lines({"[n1:0] done"}));
  merger.take(1, "n1", "done", 0.4);
  EXPECT_EQ(merger.ripe(1), Lines({"[n1:1] done"}));
}

TEST(LineMerger, LinesWithoutARankAreNotMerged) {
  LineMerger merger;
  merger.take(-1, "slurm", "same", 0);
  merger.take(-1, "slurm", "same", 0);
  merger.take(4, "", "same", 0);
  EXPECT_EQ(merger.rest(), Lines({"[slurm] same", "[slurm] same", "[4] same"}));
}

TEST(LineMerger, AFloodIsNotHeldBack) {
  LineMerger merger;
  const std::string line(1000, 'x');
  std::size_t out = 0;
  for (int i = 0; i < 20000; ++i) {
    merger.take(0, "n1", line + std::to_string(i), 0);
    out += merger.ripe(0).size();
  }
  EXPECT_GT(out, 15000u);
  EXPECT_EQ(out + merger.rest().size(), 20000u);
}

TEST(LineMerger, LongListsOfRanksAreCut) {
  IdSet even;
  for (int rank = 0; rank < 512; rank += 2) even.insert(rank);
  EXPECT_EQ(short_rank_list(even), "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,... (256 of them)");
  EXPECT_EQ(short_rank_list(IdSet::range(0, 27647)), "0-27647");
}

/// What the shown lines say of each rank, in order.
std::map<int, Lines> by_rank(const Lines& shown) {
  std::map<int, Lines> said;
  for (const auto& line : shown) {
    if (line.starts_with("ranks ")) {
      const auto colon = line.find(": ");
      const auto ranks = parse_id_list(line.substr(6, colon - 6));
      EXPECT_TRUE(ranks) << line;
      if (!ranks) continue;
      for (const int rank : ranks->ids()) said[rank].push_back(line.substr(colon + 2));
    } else {
      const auto colon = line.find(':');
      const auto end = line.find("] ");
      said[std::atoi(line.c_str() + colon + 1)].push_back(line.substr(end + 2));
    }
  }
  return said;
}

// Whatever arrives when: every rank's lines come out once, in its order, and soon.
TEST(LineMerger, NothingIsLostAndNoOrderChanges) {
  const int rounds = full_tier() ? 20000 : 1500;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937 random(static_cast<unsigned>(round));
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    LineMerger merger;
    std::map<int, Lines> said;
    Lines shown;
    double now = 0;
    const int ranks = 1 + below(6);
    for (int i = below(60); i > 0; --i) {
      const int rank = below(static_cast<unsigned>(ranks));
      const std::string text(1, static_cast<char>('a' + below(4)));
      said[rank].push_back(text);
      merger.take(rank, "n1", text, now);
      now += 0.05 * below(4);
      const auto ripe = merger.ripe(now);
      shown.insert(shown.end(), ripe.begin(), ripe.end());
    }
    const auto ripe = merger.ripe(now + LineMerger::window_s + 0.001);
    shown.insert(shown.end(), ripe.begin(), ripe.end());
    EXPECT_EQ(merger.rest(), Lines()) << "held longer than the window";
    ASSERT_EQ(by_rank(shown), said) << "seed " << round;
  }
}

}  // namespace
}  // namespace dllaunch
