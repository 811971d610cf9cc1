// Runs on 1, 2, 3, 4 and 7 real ranks.
#include "runtime/communicators/same_table.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

/// Calls check_same_table with `table` changed by `change` on the ranks `odd`; returns the error
/// text.
template <typename Change>
std::string check_with(Communicator& communicator, const std::set<int>& odd, Change change) {
  std::vector<std::string> table = {"conv1.weight 32x1x3x3 f32 OIHW", "conv1.bias 32 f32 plain",
                                    "fc1.weight 128x784 f32 plain"};
  if (odd.contains(communicator.rank())) change(table);
  const auto same = check_same_table(communicator, table);
  if (same) return "";
  EXPECT_EQ(same.error().kind, ErrorKind::bad_request);
  return same.error().what;
}

TEST(SameTable, AcceptsEqualTables) {
  const auto communicator = all_ranks();
  EXPECT_EQ(check_with(*communicator, {}, [](auto&) {}), "");
  EXPECT_TRUE(check_same_table(*communicator, {}));
}

TEST(SameTable, NamesTheFirstRowThatDiffers) {
  const auto communicator = all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank cannot differ";
  const int last = communicator->size() - 1;
  EXPECT_EQ(check_with(*communicator, {last},
                       [](auto& table) { table[2] = "fc1.weight 128x785 f32 plain"; }),
            fmt::format("parameter table differs: fc1.weight: rank {} has 128x785 f32 plain, rank "
                        "0 has 128x784 f32 plain",
                        last));
  EXPECT_EQ(check_with(*communicator, {last}, [](auto& table) { table[1] = "bn1.bias 32"; }),
            fmt::format("parameter table differs: conv1.bias: rank {} has bn1.bias 32, rank 0 has "
                        "conv1.bias 32 f32 plain",
                        last));
}

TEST(SameTable, NamesEveryRankThatDiffersThere) {
  const auto communicator = all_ranks();
  if (communicator->size() < 3) GTEST_SKIP() << "needs three ranks";
  const auto wider = [](auto& table) { table[0] = "conv1.weight 64x1x3x3 f32 OIHW"; };
  EXPECT_EQ(check_with(*communicator, {1, 2}, wider),
            "parameter table differs: conv1.weight: rank 1 has 64x1x3x3 f32 OIHW, rank 0 has "
            "32x1x3x3 f32 OIHW (ranks 1-2 differ from rank 0)");
  // If rank 0 is the odd one, all others differ from it.
  EXPECT_EQ(check_with(*communicator, {0}, wider),
            fmt::format("parameter table differs: conv1.weight: rank 1 has 32x1x3x3 f32 OIHW, "
                        "rank 0 has 64x1x3x3 f32 OIHW (ranks {} differ from rank 0)",
                        fmt::format("1-{}", communicator->size() - 1)));
}

TEST(SameTable, SeesMissingAndAdditionalRows) {
  const auto communicator = all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank cannot differ";
  const int last = communicator->size() - 1;
  EXPECT_EQ(check_with(*communicator, {last}, [](auto& table) { table.pop_back(); }),
            fmt::format("parameter table differs: fc1.weight: rank {} has no such parameter, rank "
                        "0 has 128x784 f32 plain",
                        last));
  EXPECT_EQ(
      check_with(*communicator, {last}, [](auto& table) { table.push_back("fc2.bias 10"); }),
      fmt::format("parameter table differs: fc2.bias: rank {} has 10, rank 0 has no such parameter",
                  last));
  EXPECT_NE(check_with(*communicator, {last}, [](auto& table) { table.clear(); }), "");
  // The same text split elsewhere is a different table.
  EXPECT_NE(check_with(*communicator, {last},
                       [](auto& table) {
                         table = {table[0] + table[1], table[2]};
                       }),
            "");
}

TEST(SameTable, UsesTheGivenWords) {
  const auto communicator = all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank cannot differ";
  const int last = communicator->size() - 1;
  std::vector<std::string> rows{"classes 2"};
  if (communicator->rank() == last) rows.emplace_back("class-2 cat");
  const auto same =
      check_same_table(*communicator, rows, {.table = "data", .row = "class", .hint = "look"});
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().what,
            fmt::format("data differs: class-2: rank {} has cat, rank 0 has no such class", last));
  EXPECT_EQ(same.error().hint, "look");
  const auto of_a_stage = check_same_table(*communicator, rows, {.first_rank = 6});
  EXPECT_EQ(of_a_stage.error().what,
            fmt::format("parameter table differs: class-2: rank {} has cat, rank 6 has no such "
                        "parameter",
                        6 + last));
}

}  // namespace
}  // namespace dllaunch
