#include "runtime/communicators/hierarchical/node_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace dllaunch {
namespace {

constexpr std::size_t staging_bytes = 4096;

/// Both ranks of a node, in one process.
class Pair {
 public:
  Pair() {
    for (int rank = 0; rank < 2; ++rank) {
      const std::size_t bytes = (NodeGroup::area_bytes(staging_bytes) + 63) / 64 * 64;
      auto* area = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
      std::fill_n(area, bytes, std::byte{0});
      owners_.emplace_back(area);
      areas_.push_back(area);
    }
  }
  NodeGroup rank(int index) const { return {index, areas_, staging_bytes}; }

 private:
  struct Free {
    void operator()(std::byte* area) const { std::free(area); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> owners_;
  std::vector<std::byte*> areas_;
};

TEST(NodeGroup, SeesWhatAnotherHasBegun) {
  const Pair pair;
  NodeGroup first = pair.rank(0);
  const NodeGroup second = pair.rank(1);
  EXPECT_EQ(second.begun(0, 1), nullptr);
  first.announcement(1).count = 17;
  EXPECT_EQ(second.begun(0, 1), nullptr) << "said, but not begun";
  first.begin(1);
  ASSERT_NE(second.begun(0, 1), nullptr);
  EXPECT_EQ(second.begun(0, 1)->count, 17u);
  EXPECT_EQ(second.begun(0, 2), nullptr);
  EXPECT_EQ(second.begun(1, 1), nullptr) << "it has not begun itself";
}

TEST(NodeGroup, KeepsMarksApart) {
  const Pair pair;
  NodeGroup first = pair.rank(0);
  const NodeGroup second = pair.rank(1);
  first.set(NodeGroup::Mark::reduced, 3);
  EXPECT_TRUE(second.is_set(NodeGroup::Mark::reduced, 0, 3));
  EXPECT_FALSE(second.is_set(NodeGroup::Mark::copied, 0, 3));
  EXPECT_FALSE(second.is_set(NodeGroup::Mark::reduced, 0, 3 + NodeGroup::window));
  EXPECT_FALSE(second.is_set(NodeGroup::Mark::reduced, 1, 3));
}

TEST(NodeGroup, GoesNoFurtherAheadThanItsWindow) {
  const Pair pair;
  NodeGroup first = pair.rank(0);
  NodeGroup second = pair.rank(1);
  EXPECT_TRUE(first.may_begin(NodeGroup::window, false));
  EXPECT_FALSE(first.may_begin(NodeGroup::window + 1, false));
  EXPECT_TRUE(first.may_begin(NodeGroup::staging_window, true));
  EXPECT_FALSE(first.may_begin(NodeGroup::staging_window + 1, true));
  first.end(5);
  EXPECT_FALSE(first.may_begin(NodeGroup::window + 1, false)) << "the other still reads";
  second.end(2);
  EXPECT_TRUE(first.may_begin(NodeGroup::window + 2, false));
  EXPECT_FALSE(first.may_begin(NodeGroup::window + 3, false));
  EXPECT_TRUE(first.may_begin(NodeGroup::staging_window + 2, true));
}

TEST(NodeGroup, HasAPlaceOfItsOwnForEachStepOfTheWindow) {
  const Pair pair;
  const NodeGroup group = pair.rank(0);
  std::vector<const std::byte*> slots;
  for (std::uint64_t step = 1; step <= NodeGroup::window; ++step)
    slots.push_back(group.slot(1, step));
  std::ranges::sort(slots);
  for (std::size_t i = 1; i < slots.size(); ++i) {
    EXPECT_GE(slots[i] - slots[i - 1], static_cast<std::ptrdiff_t>(NodeGroup::slot_bytes));
  }
  EXPECT_EQ(group.staging(1, 1), group.staging(1, 1 + NodeGroup::staging_window));
  EXPECT_NE(group.staging(1, 1), group.staging(1, 2));
}

}  // namespace
}  // namespace dllaunch
