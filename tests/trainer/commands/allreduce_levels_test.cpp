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

TEST(AllReduceLevels, JsonHasTheSameNumbers) {
  EXPECT_EQ(links_json(ideal({1, 4})),
            R"([{"level": "within a node", "alpha_us": 0.4000, "per": "call", )"
            R"("beta_gbs": 30.000000, "error": 0.0000}])");
  EXPECT_THAT(links_json(ideal({2, 1})), HasSubstr(R"("level": "between nodes", "alpha_us": 30.)"));
  EXPECT_EQ(links_json(Levels{}), "[]");
}

/// Two ranks of a ring tell what its messages take, for any number of them.
TEST(AllReduceLevels, OtherCommunicatorsAreCountedAmongAllRanks) {
  Levels levels{.shape = {2, 2}, .rows = {}, .within_node = {}};
  for (std::size_t bytes = 1 << 10; bytes <= 1 << 26; bytes *= 4) {
    AllReduceRow row{.communicator = "mpi", .ranks = 4};
    row.bytes = bytes;
    row.us = predict_us(network, cost_among_ranks("mpi", bytes, 4));
    levels.rows.push_back(row);
  }
  EXPECT_EQ(describe_levels(levels),
            "among ranks: 30.00 us a message + 12.500 GB/s (fits within 0 %)\n");
  const auto model = model_of(levels);
  EXPECT_NEAR(*predict_us(model, 1 << 20, {4, 2}),
              predict_us(network, cost_among_ranks("mpi", 1 << 20, 8)), 1e-6);
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
