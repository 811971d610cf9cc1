#include "runtime/gradient_reducer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "runtime/fatal.hpp"

namespace dllaunch {

GradientReducer::GradientReducer(Communicator& communicator, ArenaLayout layout,
                                 std::span<std::byte> gradients, std::vector<Bucket> buckets,
                                 bool overlap)
    : communicator_(communicator),
      layout_(std::move(layout)),
      gradients_(gradients),
      buckets_(std::move(buckets)),
      overlap_(overlap),
      bucket_of_(layout_.offset.size(), -1) {
  assert(gradients_.size() >= layout_.bytes());
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (int slot = buckets_[bucket].first_slot; slot <= buckets_[bucket].last_slot; ++slot) {
      bucket_of_[static_cast<std::size_t>(slot)] = static_cast<int>(bucket);
    }
  }
  assert(std::ranges::count(bucket_of_, -1) == 0 && "every slot is in a bucket");
}

void GradientReducer::begin() {
  assert(done_ == pending_.size() && "finish() ends every step");
  missing_.clear();
  for (const Bucket& bucket : buckets_) {
    missing_.push_back(bucket.last_slot - bucket.first_slot + 1);
  }
  pending_.clear();
  done_ = 0;
}

void GradientReducer::ready(int slot) {
  const int bucket = bucket_of_[static_cast<std::size_t>(slot)];
  int& missing = missing_[static_cast<std::size_t>(bucket)];
  assert(missing > 0 && "a slot is ready once a step");
  --missing;
  if (overlap_) start_complete_buckets();
}

void GradientReducer::start_complete_buckets() {
  while (pending_.size() < buckets_.size() && missing_[pending_.size()] == 0) {
    const Bucket& bucket = buckets_[pending_.size()];
    std::byte* data = gradients_.data() + bucket.offset * bytes_of(layout_.type);
    pending_.push_back(
        communicator_.all_reduce(data, bucket.elements, layout_.type, ReduceOp::sum));
  }
}

void GradientReducer::progress() {
  // Buckets end nearly in the order in which they start, so asking for the oldest is enough: one
  // such question moves all of them.
  while (done_ < pending_.size() && communicator_.test(pending_[done_])) ++done_;
}

ReducerStats GradientReducer::finish() {
  const auto entered = std::chrono::steady_clock::now();
  ReducerStats stats{.buckets = static_cast<int>(buckets_.size())};
  progress();
  stats.done_before_finish = done();

  start_complete_buckets();
  if (pending_.size() < buckets_.size()) {
    const Bucket& bucket = buckets_[pending_.size()];
    die("gradient reducer", fmt::format("finish() with slots {}-{} not all ready",
                                        bucket.first_slot, bucket.last_slot));
  }
  for (; done_ < pending_.size(); ++done_) communicator_.wait(pending_[done_]);

  stats.exposed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - entered).count();
  return stats;
}

}  // namespace dllaunch
