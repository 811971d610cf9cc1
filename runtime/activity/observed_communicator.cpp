#include "runtime/activity/observed_communicator.hpp"

#include <algorithm>
#include <utility>

namespace dllaunch {

ObservedCommunicator::ObservedCommunicator(std::unique_ptr<Communicator> inner, Activity& activity,
                                           CollectiveScope scope)
    : inner_(std::move(inner)), activity_(activity), scope_(scope) {}

/// Destruction is collective and counts as a barrier: a missing rank keeps the others waiting.
ObservedCommunicator::~ObservedCommunicator() {
  announce(CollectiveKind::barrier, 0);
  inner_.reset();
  activity_.end_wait();  // no end_collective(): the listener may be gone
}

/// Called before a collective that may block until other ranks come. Until then this rank is
/// waiting.
std::uint64_t ObservedCommunicator::announce(CollectiveKind kind, std::uint64_t bytes) {
  announced_ns_ = monotonic_ns();
  const std::uint64_t number = activity_.begin_collective(scope_);
  activity_.begin_wait(scope_, number, kind, bytes);
  return number;
}

Pending ObservedCommunicator::keep(std::uint64_t number, Pending pending, CollectiveKind kind,
                                   std::uint64_t bytes) {
  activity_.end_wait();
  live_.push_back({.number = number,
                   .id = pending.id,
                   .kind = kind,
                   .bytes = bytes,
                   .begin_ns = announced_ns_,
                   .done = false});
  if (pending.id == 0) end(pending);
  return pending;
}

std::deque<ObservedCommunicator::Operation>::iterator ObservedCommunicator::find(Pending pending) {
  return std::ranges::find_if(
      live_, [&](const Operation& each) { return each.id == pending.id && !each.done; });
}

void ObservedCommunicator::end(Pending pending) {
  const auto found = find(pending);
  if (found == live_.end()) return;
  found->done = true;
  const Operation ended = *found;
  while (!live_.empty() && live_.front().done) live_.pop_front();
  const auto& begun = activity_.beacon().in(scope_).begun;
  const std::uint64_t all_up_to =
      live_.empty() ? begun.load(std::memory_order_relaxed) : live_.front().number - 1;
  activity_.end_collective({.scope = scope_,
                            .number = ended.number,
                            .kind = ended.kind,
                            .bytes = ended.bytes,
                            .begin_ns = ended.begin_ns},
                           all_up_to);
}

Pending ObservedCommunicator::all_reduce(void* data, std::size_t count, DType type, ReduceOp op) {
  const std::size_t bytes = count * bytes_of(type);
  const std::uint64_t number = announce(CollectiveKind::all_reduce, bytes);
  return keep(number, inner_->all_reduce(data, count, type, op), CollectiveKind::all_reduce, bytes);
}

Pending ObservedCommunicator::reduce_scatter(void* data, std::size_t count, DType type,
                                             ReduceOp op) {
  const std::size_t bytes = count * bytes_of(type) * static_cast<std::size_t>(size());
  const std::uint64_t number = announce(CollectiveKind::reduce_scatter, bytes);
  return keep(number, inner_->reduce_scatter(data, count, type, op), CollectiveKind::reduce_scatter,
              bytes);
}

Pending ObservedCommunicator::all_gather(void* data, std::size_t count, DType type) {
  const std::size_t bytes = count * bytes_of(type) * static_cast<std::size_t>(size());
  const std::uint64_t number = announce(CollectiveKind::all_gather, bytes);
  return keep(number, inner_->all_gather(data, count, type), CollectiveKind::all_gather, bytes);
}

Pending ObservedCommunicator::broadcast(void* data, std::size_t count, DType type, int root) {
  const std::size_t bytes = count * bytes_of(type);
  const std::uint64_t number = announce(CollectiveKind::broadcast, bytes);
  return keep(number, inner_->broadcast(data, count, type, root), CollectiveKind::broadcast, bytes);
}

Pending ObservedCommunicator::barrier() {
  const std::uint64_t number = announce(CollectiveKind::barrier, 0);
  return keep(number, inner_->barrier(), CollectiveKind::barrier, 0);
}

bool ObservedCommunicator::test(Pending pending) {
  const bool done = inner_->test(pending);
  if (done) end(pending);
  return done;
}

void ObservedCommunicator::wait(Pending pending) {
  const auto waited = find(pending);
  if (waited == live_.end()) return inner_->wait(pending);
  activity_.begin_wait(scope_, waited->number, waited->kind, waited->bytes);
  inner_->wait(pending);
  activity_.end_wait();
  end(pending);
}

/// Counts as a barrier.
std::span<std::byte> ObservedCommunicator::allocate(std::size_t bytes) {
  const std::uint64_t number = announce(CollectiveKind::barrier, 0);
  const std::span<std::byte> memory = inner_->allocate(bytes);
  keep(number, {}, CollectiveKind::barrier, 0);
  return memory;
}

}  // namespace dllaunch
