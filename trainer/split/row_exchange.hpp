// What travels between the ranks around a split layer: rows of samples and columns of units.
// Values are plain, `Value` is float or double. Every function is collective, and ranks may have
// different numbers of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

template <typename Value>
class RowExchange {
 public:
  /// Waiting counts as RankPhase::reduce if `activity` is given. Both must outlive this.
  RowExchange(Communicator& communicator, Activity* activity);

  /// Tells the ranks how many rows this one has in what follows.
  void begin(int own_rows);
  int own() const { return static_cast<int>(rows_[rank()]); }
  int total() const { return static_cast<int>(total_); }

  /// All ranks get all rows of `width`, rank by rank: own [own(), width], all [total(), width].
  void gather(std::span<const Value> own, std::size_t width, std::span<Value> all);

  /// Each rank gets the sums of its own rows over all ranks' addends: all [total(), width], own
  /// [own(), width].
  void sum(std::span<const Value> all, std::size_t width, std::span<Value> own);

  /// Each rank has rows_of_rank() of `units` of all rows, in the first columns of
  /// columns [total(), most], and gets all units of its own rows: own [own(), units]. Rows here
  /// are `times` as many: a sample's tokens.
  void join_units(std::span<const Value> columns, std::int64_t units, std::int64_t times,
                  std::span<Value> own);

 private:
  std::size_t rank() const { return static_cast<std::size_t>(communicator_.rank()); }
  std::size_t ranks() const { return rows_.size(); }
  /// Room for a block of this many values for each rank.
  std::span<Value> blocks(std::size_t each);
  void gather_blocks(std::size_t each);

  Communicator& communicator_;
  Activity* activity_;
  std::vector<std::int64_t> rows_;  // of each rank
  std::int64_t most_ = 0;           // of one of them
  std::int64_t first_ = 0;          // of the own rows
  std::int64_t total_ = 0;
  std::vector<Value> wire_;
};

extern template class RowExchange<float>;
extern template class RowExchange<double>;

}  // namespace dllaunch
