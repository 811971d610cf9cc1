#include "trainer/split/row_exchange.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "trainer/backends/backend.hpp"

namespace dllaunch {
namespace {

/// Counts the time until its end as waiting for the other ranks.
class Waiting {
 public:
  explicit Waiting(Activity* activity) : activity_(activity) {
    if (activity == nullptr) return;
    before_ = activity->phase();
    micro_batch_ = activity->micro_batch();
    activity->enter(RankPhase::reduce, micro_batch_);
  }
  ~Waiting() {
    if (activity_ != nullptr) activity_->enter(before_, micro_batch_);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Activity* activity_;
  RankPhase before_ = RankPhase::start;
  int micro_batch_ = -1;
};

template <typename Value>
constexpr DType type_of = std::is_same_v<Value, double> ? DType::f64 : DType::f32;

}  // namespace

template <typename Value>
RowExchange<Value>::RowExchange(Communicator& communicator, Activity* activity)
    : communicator_(communicator),
      activity_(activity),
      rows_(static_cast<std::size_t>(communicator.size())) {}

template <typename Value>
void RowExchange<Value>::begin(int own_rows) {
  const Waiting waiting(activity_);
  rows_[rank()] = own_rows;
  communicator_.wait(communicator_.all_gather(rows_.data(), 1, DType::i64));
  most_ = *std::ranges::max_element(rows_);
  const auto own = rows_.begin() + communicator_.rank();
  first_ = std::accumulate(rows_.begin(), own, std::int64_t{0});
  total_ = std::accumulate(own, rows_.end(), first_);
}

template <typename Value>
std::span<Value> RowExchange<Value>::blocks(std::size_t each) {
  wire_.resize(std::max(wire_.size(), ranks() * each));
  return std::span<Value>(wire_).first(ranks() * each);
}

template <typename Value>
void RowExchange<Value>::gather_blocks(std::size_t each) {
  if (each == 0) return;
  const Waiting waiting(activity_);
  communicator_.wait(communicator_.all_gather(wire_.data(), each, type_of<Value>));
}

template <typename Value>
void RowExchange<Value>::gather(std::span<const Value> own, std::size_t width,
                                std::span<Value> all) {
  const std::size_t each = static_cast<std::size_t>(most_) * width;
  const std::span<Value> wire = blocks(each);
  std::copy_n(own.begin(), static_cast<std::size_t>(this->own()) * width,
              wire.begin() + communicator_.rank() * static_cast<std::ptrdiff_t>(each));
  gather_blocks(each);
  auto to = all.begin();
  for (std::size_t r = 0; r < ranks(); ++r) {
    const std::size_t values = static_cast<std::size_t>(rows_[r]) * width;
    to = std::copy_n(wire.subspan(r * each).begin(), values, to);
  }
}

template <typename Value>
void RowExchange<Value>::sum(std::span<const Value> all, std::size_t width, std::span<Value> own) {
  const std::size_t each = static_cast<std::size_t>(most_) * width;
  const std::span<Value> wire = blocks(each);
  auto from = all.begin();
  for (std::size_t r = 0; r < ranks(); ++r) {
    const std::size_t values = static_cast<std::size_t>(rows_[r]) * width;
    const auto block = wire.subspan(r * each, each);
    std::fill(std::copy_n(from, values, block.begin()), block.end(), Value{0});
    from += static_cast<std::ptrdiff_t>(values);
  }
  if (each > 0) {
    const Waiting waiting(activity_);
    communicator_.wait(
        communicator_.reduce_scatter(wire.data(), each, type_of<Value>, ReduceOp::sum));
  }
  std::copy_n(wire.subspan(rank() * each).begin(), static_cast<std::size_t>(this->own()) * width,
              own.begin());
}

template <typename Value>
void RowExchange<Value>::join_units(std::span<const Value> columns, std::int64_t units,
                                    std::int64_t times, std::span<Value> own) {
  const std::int64_t most = (units + communicator_.size() - 1) / communicator_.size();
  const auto each = static_cast<std::size_t>(total_ * times * most);
  const std::span<Value> wire = blocks(each);
  std::copy_n(columns.begin(), each,
              wire.begin() + communicator_.rank() * static_cast<std::ptrdiff_t>(each));
  gather_blocks(each);
  for (int r = 0; r < communicator_.size(); ++r) {
    const SlotRows theirs = rows_of_rank(units, r, communicator_.size());
    const Value* from = wire.data() + static_cast<std::size_t>(r) * each + first_ * times * most;
    Value* to = own.data() + theirs.first;
    for (std::int64_t row = 0; row < this->own() * times; ++row, from += most, to += units) {
      std::copy_n(from, theirs.count, to);
    }
  }
}

template class RowExchange<float>;
template class RowExchange<double>;

}  // namespace dllaunch
