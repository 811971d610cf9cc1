#include "trainer/commands/allreduce_levels.hpp"
#include "runtime/communicators/opening/communicators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::HasSubstr;

constexpr LinkModel network{30, 12.5, 0};

double within_us(std::size_t bytes) {
  return 0.4 + static_cast<double>(bytes) / 30e3;
}

/// The measurements of an ideal machine of that shape.
Levels ideal(JobShape shape) {
  Levels levels{.shape = shape, .rows = {}, .within_node = {}};
  for (std::size_t bytes = 1 << 20; bytes <= 1 << 26; bytes *= 4) {
    AllReduceRow row{.communicator = "hierarchical", .ranks = shape.nodes * shape.ranks};
    row.bytes = bytes;
    row.correct = true;
    row.us = within_us(bytes);
    if (shape.nodes > 1) {
      if (shape.ranks > 1) levels.within_node.push_back(row);
      if (shape.ranks == 1) row.us = 0;
      row.us += predict_us(network, *cost_between_nodes(row.communicator, bytes, shape));
    }
    levels.rows.push_back(row);
  }
  return levels;
}

TEST(AllReduceLevels, TwoNodesPredictSixteen) {
  for (const int ranks : {1, 4}) {
    const auto projected = project(ideal({2, ranks}), 16);
    const auto measured = ideal({16, ranks}).rows;
    ASSERT_EQ(projected.size(), measured.size());
    for (std::size_t i = 0; i < measured.size(); ++i) {
      EXPECT_NEAR(projected[i].us, measured[i].us, 1e-6 * measured[i].us);
      EXPECT_EQ(projected[i].ranks, 16 * ranks);
      EXPECT_TRUE(projected[i].projected);
    }
  }
}

TEST(AllReduceLevels, DescribesEachLevel) {
  const std::string text = describe_levels(ideal({2, 4}));
  EXPECT_THAT(text, HasSubstr("within a node: 0.40 us a call + 30.000 GB/s"));
  EXPECT_THAT(text, HasSubstr("between nodes: 30.00 us a message + 12.500 GB/s"));
  EXPECT_EQ(describe_levels(ideal({1, 4})),
            "within a node: 0.40 us a call + 30.000 GB/s (fits within 0 %)\n");
}

TEST(AllReduceLevels, OneNodeDoesNotPredictMore) {
  EXPECT_TRUE(project(ideal({1, 4}), 2).empty());
}

TEST(AllReduceLevels, OneRankIsOneNode) {
  auto solo = open_communicator("solo", RankEnv{});
  ASSERT_TRUE(solo);
  const auto shape = shape_of(**solo);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->nodes, 1);
  EXPECT_EQ(shape->ranks, 1);
}

}  // namespace
}  // namespace dllaunch
