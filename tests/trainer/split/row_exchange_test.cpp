#include "trainer/split/row_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAreArray;

/// Rank r has `rows[r]` rows; value v of row i of all is 10 i + v, and a little that only doubles
/// have.
template <typename Value>
class Rows {
 public:
  Rows(const Communicator& communicator, std::vector<int> rows)
      : rows_(std::move(rows)), rank_(static_cast<std::size_t>(communicator.rank())) {}

  int own() const { return rows_[rank_]; }
  int all() const { return std::accumulate(rows_.begin(), rows_.end(), 0); }
  std::vector<Value> values(int width, bool only_own, Value times = 1) const {
    const int first =
        only_own ? std::accumulate(rows_.begin(), rows_.begin() + static_cast<long>(rank_), 0) : 0;
    std::vector<Value> values;
    for (int row = first; row < first + (only_own ? own() : all()); ++row) {
      for (int v = 0; v < width; ++v) values.push_back(times * value(row, v));
    }
    return values;
  }

  static Value value(std::int64_t row, std::int64_t v) {
    return static_cast<Value>(static_cast<double>(10 * row + v) + 0x1p-40);
  }

 private:
  std::vector<int> rows_;
  std::size_t rank_;
};

template <typename Value>
class RowExchangeOf : public testing::Test {};

using Values = testing::Types<float, double>;
TYPED_TEST_SUITE(RowExchangeOf, Values);

TYPED_TEST(RowExchangeOf, RanksMayHaveFewerRowsOrNone) {
  const auto communicator = all_ranks();
  Activity activity;
  activity.enter(RankPhase::forward, 3);
  RowExchange<TypeParam> exchange(*communicator, &activity);
  const int ranks = communicator->size();
  for (const std::vector<int>& of_three : {std::vector{2, 2, 2}, {3, 0, 1}, {0, 2, 0}, {0, 0, 0}}) {
    const Rows<TypeParam> rows(*communicator, {of_three.begin(), of_three.begin() + ranks});
    exchange.begin(rows.own());
    EXPECT_EQ(exchange.total(), rows.all());
    EXPECT_EQ(exchange.own(), rows.own());
    constexpr int width = 5;
    std::vector<TypeParam> all(static_cast<std::size_t>(rows.all() * width));
    exchange.gather(rows.values(width, true), width, all);
    EXPECT_THAT(all, ElementsAreArray(rows.values(width, false)));
    std::vector<TypeParam> own(static_cast<std::size_t>(rows.own() * width));
    exchange.sum(all, width, own);
    EXPECT_THAT(own, ElementsAreArray(rows.values(width, true, static_cast<TypeParam>(ranks))));
  }
  EXPECT_EQ(activity.phase(), RankPhase::forward);
  EXPECT_EQ(activity.micro_batch(), 3);
}

TYPED_TEST(RowExchangeOf, JoinsTheUnitsOfAllRanks) {
  const auto communicator = all_ranks();
  RowExchange<TypeParam> exchange(*communicator, nullptr);
  const int ranks = communicator->size();
  constexpr int units = 7;
  for (const int tokens : {1, 2}) {
    std::vector<int> samples{3, 1, 2};
    samples.resize(static_cast<std::size_t>(ranks));
    std::vector<int> token_rows = samples;
    for (int& each : token_rows) each *= tokens;
    const Rows<TypeParam> expected(*communicator, token_rows);
    exchange.begin(samples[static_cast<std::size_t>(communicator->rank())]);
    const SlotRows mine = rows_of_rank(units, communicator->rank(), ranks);
    const int most = (units + ranks - 1) / ranks;
    std::vector<TypeParam> columns;
    for (int row = 0; row < expected.all(); ++row) {
      for (int u = 0; u < most; ++u) {
        const bool padding = u >= mine.count;
        columns.push_back(padding ? -1 : expected.value(row, mine.first + u));
      }
    }
    std::vector<TypeParam> own(static_cast<std::size_t>(expected.own() * units));
    exchange.join_units(columns, units, tokens, own);
    EXPECT_THAT(own, ElementsAreArray(expected.values(units, true)));
  }
}

}  // namespace
}  // namespace dllaunch
