#include "trainer/integrity/comparing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dllaunch {
namespace {

Comparing of(std::vector<Comparing> ranks) {
  return common(ranks);
}

TEST(Comparing, AlikeRanksDoWhatEachWould) {
  const Comparing cpu{.every = 50};
  const Comparing gpu{.every = 0, .on_device = true};
  EXPECT_EQ(of({cpu}), cpu);
  EXPECT_EQ(of({cpu, cpu, cpu}), cpu);
  EXPECT_EQ(of({gpu, gpu}), gpu);
}

TEST(Comparing, OnCpusAndGpusNobodyCompares) {
  const Comparing cpu{.every = 50, .prints = true};
  const Comparing gpu{.every = 50, .prints = false, .on_device = true};
  for (const auto& ranks : {std::vector{cpu, gpu}, std::vector{gpu, cpu, cpu}}) {
    EXPECT_EQ(common(ranks).every, 0);
    EXPECT_FALSE(common(ranks).prints);
  }
}

TEST(Comparing, OneThatCannotKeepsAllFromIt) {
  EXPECT_EQ(of({{.every = 50, .prints = true}, {.every = 0, .prints = true}}), Comparing());
  EXPECT_EQ(of({{.every = 9, .prints = true}, {.every = 9, .prints = false}}),
            Comparing{.every = 9});
}

TEST(Comparing, PrintsAreBounded) {
  for (const std::size_t ranks : {2U, 3U, 128U, 65536U, 100000U}) {
    const auto steps = most_printed_steps(ranks);
    EXPECT_GE(steps, 1U);
    if (ranks <= most_prints) {
      EXPECT_LE(steps * ranks, most_prints);
    }
  }
}

}  // namespace
}  // namespace dllaunch
