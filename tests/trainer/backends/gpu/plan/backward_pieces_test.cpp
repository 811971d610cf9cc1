#include "trainer/backends/gpu/plan/backward_pieces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/backends/operation_cases.hpp"

namespace dllaunch::gpu {
namespace {

using testing::ElementsAre;

/// Nodes: 1 conv (weight, bias), 2 relu, 3 flatten, 4 dense (2), 5 relu, 6 dense (2).
Graph three_layers() {
  GraphBuilder net("net", {1, 4, 4});
  net.add("conv", Conv2d{.channels = 2, .kernel = 3});
  net.add("relu", Relu{});
  net.add("flatten", Flatten{});
  net.add("fc1", Dense{.units = 4});
  net.add("relu1", Relu{});
  net.add("fc2", Dense{.units = 3});
  return *std::move(net).finish();
}

using Piece = BackwardPiece;

TEST(BackwardPieces, EndWithBuckets) {
  const Graph graph = three_layers();
  EXPECT_THAT(node_pieces(graph),
              ElementsAre(Piece{6, 6, 0, 2}, Piece{5, 5, 2, 0}, Piece{4, 4, 2, 2},
                          Piece{3, 3, 4, 0}, Piece{2, 2, 4, 0}, Piece{1, 1, 4, 2}));
  EXPECT_THAT(joined_pieces(graph, {}), ElementsAre(Piece{6, 1, 0, 6}));
  EXPECT_THAT(joined_pieces(graph, std::vector{5}), ElementsAre(Piece{6, 1, 0, 6}));
  EXPECT_THAT(joined_pieces(graph, std::vector{0, 5}),
              ElementsAre(Piece{6, 6, 0, 2}, Piece{5, 1, 2, 4}));
  EXPECT_THAT(joined_pieces(graph, std::vector{3}),
              ElementsAre(Piece{6, 4, 0, 4}, Piece{3, 1, 4, 2}));
  EXPECT_THAT(joined_pieces(graph, std::vector{1, 2, 3}),
              ElementsAre(Piece{6, 6, 0, 2}, Piece{5, 4, 2, 2}, Piece{3, 1, 4, 2}));
}

/// For any buckets, the pieces contain every node and slot once, in order.
TEST(BackwardPieces, HoldEveryNodeAndSlotOnce) {
  for (const OperationCase& one : operation_cases()) {
    const Graph graph = one.graph();
    int slots = 0;
    for (const Node& node : graph.nodes) slots += static_cast<int>(node.parameters.size());
    for (unsigned chosen = 0; chosen < 1U << std::min(slots, 6); ++chosen) {
      std::vector<int> last_slots;
      for (int slot = 0; slot < slots; ++slot) {
        if ((chosen >> slot % 6 & 1) != 0) last_slots.push_back(slot);
      }
      int node = static_cast<int>(graph.nodes.size()) - 1;
      int slot = 0;
      for (const BackwardPiece& piece : joined_pieces(graph, last_slots)) {
        EXPECT_EQ(piece.first_node, node);
        EXPECT_EQ(piece.first_slot, slot);
        EXPECT_LE(piece.last_node, piece.first_node);
        node = piece.last_node - 1;
        slot += piece.slots;
      }
      EXPECT_EQ(node, 0);
      EXPECT_EQ(slot, slots);
    }
  }
}

TEST(BackwardSchedule, KnowsWhatWasWrittenAlsoBehindPiecesThatWereLeftOut) {
  const Graph graph = three_layers();
  BackwardSchedule schedule(graph);
  const auto pass = [&](bool joined, const std::vector<bool>& run) {
    std::vector<bool> added;
    std::size_t number = 0;
    for (const BackwardPiece& piece : schedule.pieces(joined)) {
      if (!run[number++ % run.size()]) continue;
      schedule.begin(piece);
      for (int n = piece.first_node; n >= piece.last_node; --n) {
        added.push_back(schedule.adds(n - 1));
        if (n == 4) added.push_back(schedule.adds(1));  // read by two
      }
      schedule.end(piece);
    }
    return added;
  };
  EXPECT_THAT(pass(false, {true}), ElementsAre(false, false, false, false, false, true, false));
  schedule.hold_until(std::vector{3});
  EXPECT_THAT(pass(true, {true}), ElementsAre(false, false, false, false, false, true, false));
  EXPECT_THAT(pass(true, {false, true}), ElementsAre(false, true, false));
}

/// Of nodes that share a weight the last one's backward pass is the first.
TEST(BackwardSchedule, ASharedGradientIsBegunByItsLastReader) {
  GraphBuilder net("m", {4});
  const int words = net.add("words", Embedding{.vocabulary = 5, .width = 3});
  net.add("norm", LayerNorm{});
  net.add_sharing("head", Dense{.units = 5, .bias = false}, words);
  const Graph graph = *std::move(net).finish();
  const BackwardSchedule schedule(graph);
  EXPECT_TRUE(schedule.shares_gradient(1, graph.nodes[1].parameters[0]));
  EXPECT_FALSE(schedule.shares_gradient(3, graph.nodes[3].parameters[0]));
  EXPECT_FALSE(schedule.shares_gradient(2, graph.nodes[2].parameters[1]));
}

}  // namespace
}  // namespace dllaunch::gpu
