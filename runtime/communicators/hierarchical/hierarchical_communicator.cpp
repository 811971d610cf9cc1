#include "runtime/communicators/hierarchical/hierarchical_communicator.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "support/fatal.hpp"

namespace dllaunch {
namespace {

/// Polls before yielding the CPU: about as long as a yield takes to return.
constexpr int polls_before_yield = 2000;
constexpr int yields_before_sleep = 20;  // if ranks outnumber CPUs

constexpr int region_shift = 48;

}  // namespace

NodeGroup HierarchicalCommunicator::make_group(const NodeMap& map, const SharedPieces& areas,
                                               std::size_t staging_bytes) {
  return {map.local_index[static_cast<std::size_t>(map.rank)], areas.pieces, staging_bytes};
}

HierarchicalCommunicator::HierarchicalCommunicator(NodeMap map, ShareMemory share,
                                                   std::unique_ptr<InterNode> inter_node,
                                                   std::size_t staging_bytes)
    : map_(std::move(map)),
      nodes_(1 + *std::ranges::max_element(map_.node)),
      share_(std::move(share)),
      areas_(share_(NodeGroup::area_bytes(staging_bytes))),
      group_(make_group(map_, areas_, staging_bytes)),
      inter_node_(std::move(inter_node)) {}

std::span<std::byte> HierarchicalCommunicator::allocate(std::size_t bytes) {
  if (bytes == 0) return {};
  // Sharing waits for the other ranks, which may be waiting for what this one has begun.
  finish_all();
  regions_.push_back({share_(bytes), bytes});
  return {regions_.back().shared.pieces[static_cast<std::size_t>(group_.index())], bytes};
}

// ---- from a collective to its steps

Pending HierarchicalCommunicator::queue(Step step, void* data, std::size_t count, int blocks) {
  const std::size_t element = bytes_of(step.type);
  const std::size_t most = group_.staging_bytes() / element / static_cast<std::size_t>(blocks);
  assert(most > 0);
  step.stride = count * element;
  step.first = next_;
  for (std::size_t done = 0; done < count; done += step.count) {
    step.number = next_++;
    step.data = static_cast<std::byte*>(data) + done * element;
    step.count = std::min(most, count - done);
    begin(step);
  }
  return {count == 0 ? 0 : static_cast<std::int64_t>(next_ - 1)};
}

void HierarchicalCommunicator::begin(Step step) {
  choose_place(step);
  live_.push_back(step);
  const bool first = live_.size() == 1 || live_[live_.size() - 2].state != StepState::queued;
  if (first) try_begin(live_.back());
}

/// May depend on this rank's memory only: the others read the choice from the announcement.
void HierarchicalCommunicator::choose_place(Step& step) const {
  if (step.kind == CollectiveKind::barrier) return;
  const bool small_kind = step.kind != CollectiveKind::reduce_scatter && !several_nodes();
  if (small_kind && step.bytes() <= NodeGroup::slot_bytes) {
    const bool shows = step.kind != CollectiveKind::broadcast || step.root == map_.rank;
    const bool fits = step.bytes() <= Announcement::payload_bytes;
    if (shows) step.place = fits ? Place::announcement : Place::slot;
    return;
  }
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    const std::byte* begin = regions_[i].shared.pieces[static_cast<std::size_t>(group_.index())];
    if (step.data < begin || step.data >= begin + regions_[i].bytes) continue;
    step.place = Place::region;
    step.where = i << region_shift | static_cast<std::uint64_t>(step.data - begin);
    return;
  }
  step.place = Place::staging;
}

bool HierarchicalCommunicator::try_begin(Step& step) {
  if (!group_.may_begin(step.number, step.place == Place::staging)) return false;
  Announcement& said = group_.announcement(step.number);
  const bool one_of_many = step.kind == CollectiveKind::all_gather;
  const std::byte* own =
      step.data + (one_of_many ? static_cast<std::size_t>(map_.rank) * step.stride : 0);
  if (step.place == Place::announcement) std::memcpy(said.payload.data(), own, step.bytes());
  if (step.place == Place::slot) {
    std::memcpy(group_.slot(group_.index(), step.number), own, step.bytes());
  }
  if (step.place == Place::staging) {
    copy_in(step, group_.staging(group_.index(), step.number));
    step.where = 0;
  }
  said.where = step.where;
  said.stride = step.place == Place::staging ? step.bytes() : step.stride;
  said.count = static_cast<std::uint32_t>(step.count);
  said.root = step.root;
  said.kind = step.kind;
  said.type = step.type;
  said.op = step.op;
  said.place = step.place;
  group_.begin(step.number);
  step.state = StepState::begun;
  return true;
}

/// In staging, blocks are contiguous.
void HierarchicalCommunicator::copy_in(Step& step, std::byte* to) const {
  if (step.kind == CollectiveKind::broadcast && step.root != map_.rank) return;
  if (step.kind == CollectiveKind::all_reduce || step.kind == CollectiveKind::broadcast) {
    std::memcpy(to, step.data, step.bytes());
    return;
  }
  for (int block = 0; block < size(); ++block) {
    if (step.kind == CollectiveKind::all_gather && block != map_.rank) continue;
    const auto b = static_cast<std::size_t>(block);
    std::memcpy(to + b * step.bytes(), step.data + b * step.stride, step.bytes());
  }
}

std::byte* HierarchicalCommunicator::visible(int index, const Step& step) const {
  const Announcement& said = *group_.begun(index, step.number);
  switch (said.place) {
    case Place::none:
      return nullptr;
    case Place::announcement:
      return const_cast<std::byte*>(said.payload.data());
    case Place::slot:
      return group_.slot(index, step.number);
    case Place::staging:
      return group_.staging(index, step.number);
    case Place::region: {
      const Region& region = regions_[said.where >> region_shift];
      const std::uint64_t offset = said.where & ((std::uint64_t{1} << region_shift) - 1);
      return region.shared.pieces[static_cast<std::size_t>(index)] + offset;
    }
  }
  return nullptr;
}

std::byte* HierarchicalCommunicator::visible_block(int index, const Step& step, int block) const {
  const std::uint64_t stride = group_.begun(index, step.number)->stride;
  return visible(index, step) + static_cast<std::uint64_t>(block) * stride;
}

// ---- progress

/// A collective may end before an earlier one: exchanges between nodes take long.
bool HierarchicalCommunicator::is_done(std::uint64_t last_step) const {
  if (last_step <= ended_) return true;
  std::size_t at = last_step - live_.front().number;
  const std::uint64_t first = std::max(live_[at].first, live_.front().number);
  for (std::uint64_t number = last_step;; --number, --at) {
    if (live_[at].state != StepState::ended) return false;
    if (number == first) return true;
  }
}

void HierarchicalCommunicator::finish_all() {
  while (ended_ + 1 < next_) finish(ended_ + 1);
}

void HierarchicalCommunicator::finish(std::uint64_t last_step) {
  for (int polls = 0; !is_done(last_step); ++polls) {
    progress();
    if (map_.crowded && polls > yields_before_sleep) {
      // After a yield a process waits for every other's time slice; after a sleep it runs first.
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    } else if (map_.crowded || polls > polls_before_yield) {
      ::sched_yield();
    }
  }
}

void HierarchicalCommunicator::progress() {
  if (inter_node_) inter_node_->progress();
  for (Step& step : live_) {
    while (step.state != StepState::ended && advance(step)) {
    }
    // Ranks begin steps in order: a rank that has not begun this one has begun none after it.
    if (step.state == StepState::queued || step.state == StepState::begun) break;
  }
  while (!live_.empty() && live_.front().state == StepState::ended) {
    ended_ = live_.front().number;
    group_.end(ended_);
    live_.pop_front();
  }
}

/// Returns true if the step reached its next state.
bool HierarchicalCommunicator::advance(Step& step) {
  switch (step.state) {
    case StepState::queued:
      return try_begin(step);
    case StepState::begun:
      if (!all_begun(step)) return false;
      step.seen = 0;
      work(step);
      return true;
    case StepState::exchanged:
      if (!inter_node_->is_done(step.exchange)) return false;
      finish_exchange(step);
      return true;
    case StepState::reduced:
      if (!all_marked(step, NodeGroup::Mark::reduced)) return false;
      step.seen = 0;
      copy_out(step);
      return true;
    case StepState::copied:
      if (!all_marked(step, NodeGroup::Mark::copied)) return false;
      step.state = StepState::ended;
      return true;
    case StepState::ended:
      return false;
  }
  return false;
}

bool HierarchicalCommunicator::all_begun(Step& step) {
  for (; step.seen < group_.size(); ++step.seen) {
    const Announcement* said = group_.begun(step.seen, step.number);
    if (said == nullptr) return false;
    check_same(step, *said, step.seen);
  }
  return true;
}

bool HierarchicalCommunicator::all_marked(Step& step, NodeGroup::Mark mark) {
  for (; step.seen < group_.size(); ++step.seen) {
    if (!group_.is_set(mark, step.seen, step.number)) return false;
  }
  return true;
}

/// Without this check a mismatch would be a hang, or a plausible wrong result.
void HierarchicalCommunicator::check_same(const Step& step, const Announcement& theirs,
                                          int index) const {
  if (theirs.kind == step.kind && theirs.type == step.type && theirs.op == step.op &&
      theirs.count == step.count && theirs.root == step.root) {
    return;
  }
  const auto describe = [](CollectiveKind kind, std::size_t count, DType type, ReduceOp op,
                           int root) {
    if (kind == CollectiveKind::barrier) return std::string("barrier");
    if (kind == CollectiveKind::broadcast) {
      return fmt::format("broadcast of {} {} from rank {}", count, to_string(type), root);
    }
    const bool reduces =
        kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
    return fmt::format("{} of {} {}{}{}", to_string(kind), count, to_string(type),
                       reduces ? " by " : "", reduces ? to_string(op) : "");
  };
  int other = 0;
  while (!is_here(other) || index_of(other) != index) ++other;
  die("collective",
      fmt::format("rank {} is in {}, rank {} in {}", map_.rank,
                  describe(step.kind, step.count, step.type, step.op, step.root), other,
                  describe(theirs.kind, theirs.count, theirs.type, theirs.op, theirs.root)));
}

}  // namespace dllaunch
