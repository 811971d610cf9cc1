#include "runtime/gradients/gradient_reducer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "support/fatal.hpp"

namespace dllaunch {
namespace {

/// A single rank sends nothing, so it compresses nothing.
ReducerOptions fitting(ReducerOptions options, const Communicator& communicator) {
  if (communicator.size() == 1) options.compression = Compression::none;
  return options;
}

int copies(const ReducerOptions& options) {
  if (options.lag) return 2;  // the next step's while this step's are in progress
  return options.compression == Compression::none ? 0 : 1;
}

}  // namespace

GradientReducer::GradientReducer(Communicator& communicator, ArenaLayout layout,
                                 std::span<std::byte> gradients, std::vector<Bucket> buckets,
                                 const ReducerOptions& options)
    : communicator_(communicator),
      layout_(std::move(layout)),
      options_(fitting(options, communicator)),
      wire_(communicator, layout_, gradients, options_.compression, copies(options_)),
      ready_(layout_.offset.size(), true) {
  assert(gradients.size() >= layout_.bytes());
  set_buckets(std::move(buckets));
}

void GradientReducer::set_buckets(std::vector<Bucket> buckets) {
  assert(std::ranges::is_sorted(buckets, {}, &Bucket::last_slot) && "buckets start in this order");
  assert((buckets.empty() || buckets.back().last_slot < std::ssize(layout_.offset)) &&
         "slots that there are");
  buckets_ = std::move(buckets);
  last_slots_.clear();
  if (communicator_.size() == 1) return;
  for (const Bucket& bucket : buckets_) last_slots_.push_back(bucket.last_slot);
}

void GradientReducer::begin() {
  assert(current_.done == current_.pending.size() && "finish() ends every step");
  ready_.assign(ready_.size(), false);
  ready_before_ = 0;
  current_ = {.buckets = buckets_, .copy = options_.lag ? 1 - previous_.copy : 0};
}

void GradientReducer::ready(int slot) {
  const auto i = static_cast<std::size_t>(slot);
  assert(!ready_[i] && "a slot is ready once a step");
  ready_[i] = true;
  while (ready_before_ < ready_.size() && ready_[ready_before_]) ++ready_before_;
  if (options_.overlap) start_complete_buckets();
}

void GradientReducer::start_complete_buckets() {
  while (current_.pending.size() < current_.buckets.size()) {
    const Bucket& bucket = current_.buckets[current_.pending.size()];
    if (static_cast<std::size_t>(bucket.last_slot) >= ready_before_) return;
    wire_.pack(current_.copy, {bucket.offset, bucket.elements});
    current_.pending.push_back(start(bucket));
  }
}

Pending GradientReducer::start(const Bucket& bucket) {
  std::byte* data = wire_.at(current_.copy, bucket.offset);
  if (!options_.scatter) {
    return communicator_.all_reduce(data, bucket.elements, wire_.type(), ReduceOp::sum);
  }
  const ArenaRange part = part_of(bucket, communicator_.rank(), communicator_.size());
  return communicator_.reduce_scatter(data, part.elements, wire_.type(), ReduceOp::sum);
}

void GradientReducer::unpack(const Flight& flight, const Bucket& bucket) {
  const ArenaRange range = options_.scatter
                               ? part_of(bucket, communicator_.rank(), communicator_.size())
                               : ArenaRange{bucket.offset, bucket.elements};
  wire_.unpack(flight.copy, range);
}

void GradientReducer::progress() {
  // Buckets end nearly in the order in which they start, so testing the oldest is enough: one test
  // progresses all of them.
  for (Flight* flight : {&previous_, &current_}) {
    while (flight->done < flight->pending.size()) {
      if (!communicator_.test(flight->pending[flight->done])) return;
      // With lag, the arena still holds gradients that have not been sent.
      if (!options_.lag) unpack(*flight, flight->buckets[flight->done]);
      ++flight->done;
    }
  }
}

void GradientReducer::land(Flight& flight) {
  for (; flight.done < flight.pending.size(); ++flight.done) {
    communicator_.wait(flight.pending[flight.done]);
    if (!options_.lag) unpack(flight, flight.buckets[flight.done]);
  }
  if (!options_.lag) return;
  for (const Bucket& bucket : flight.buckets) unpack(flight, bucket);
}

void GradientReducer::start_all_buckets() {
  start_complete_buckets();
  if (current_.pending.size() == current_.buckets.size()) return;
  const Bucket& bucket = current_.buckets[current_.pending.size()];
  die("gradient reducer",
      fmt::format("finish() with slots {}-{} not all ready", bucket.first_slot, bucket.last_slot));
}

bool GradientReducer::finish_on_gpu() {
  assert(on_gpu_.done == on_gpu_.pending.size() && "settle() ends the step before");
  if (communicator_.memory() != MemorySpace::gpu || copies(options_) > 0) return false;
  start_all_buckets();
  // Collectives run in the order of their start: what follows the last one follows all.
  if (!current_.pending.empty() && !communicator_.follow(current_.pending.back())) return false;
  on_gpu_ = std::exchange(current_, {});
  return true;
}

void GradientReducer::settle() {
  land(on_gpu_);
}

ReducerStats GradientReducer::finish() {
  const auto entered = std::chrono::steady_clock::now();
  ReducerStats stats{.buckets = static_cast<int>(current_.buckets.size())};
  progress();
  Flight& due = options_.lag ? previous_ : current_;
  stats.done_before_finish = static_cast<int>(due.done);

  start_all_buckets();
  land(due);
  if (options_.lag) {
    stats.reduced = in_flight_;
    previous_ = std::exchange(current_, {});
    in_flight_ = true;
  }

  stats.exposed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - entered).count();
  return stats;
}

bool GradientReducer::drain() {
  if (!std::exchange(in_flight_, false)) return false;
  land(previous_);
  previous_ = {.copy = previous_.copy};
  return true;
}

}  // namespace dllaunch
