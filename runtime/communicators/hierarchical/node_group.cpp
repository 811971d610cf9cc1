#include "runtime/communicators/hierarchical/node_group.hpp"

#include <algorithm>
#include <limits>

namespace dllaunch {
namespace {

constexpr std::size_t cache_line = 64;

struct alignas(cache_line) Flag {
  std::atomic<std::uint64_t> step;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "it works between processes");
static_assert(sizeof(Announcement) == cache_line);

}  // namespace

/// Staging follows. Only its rank writes to it, except for the data in staging.
struct NodeGroup::Area {
  Flag ended;
  alignas(cache_line) std::array<Announcement, window> announcements;
  std::array<std::array<Flag, window>, 2> marks;
  // A cache line off multiples of 4 KiB, which would all map to one cache set.
  std::array<std::array<std::byte, slot_bytes + cache_line>, window> slots;
};

std::size_t NodeGroup::area_bytes(std::size_t staging_bytes) {
  return sizeof(Area) + staging_window * staging_bytes;
}

NodeGroup::NodeGroup(int index, std::vector<std::byte*> areas, std::size_t staging_bytes)
    : index_(index), areas_(std::move(areas)), staging_bytes_(staging_bytes) {}

NodeGroup::Area& NodeGroup::area(int rank) const {
  return *reinterpret_cast<Area*>(areas_[static_cast<std::size_t>(rank)]);
}

Announcement& NodeGroup::line(int rank, std::uint64_t step) const {
  return area(rank).announcements[step % window];
}

bool NodeGroup::may_begin(std::uint64_t step, bool staged) {
  const std::uint64_t distance = staged ? staging_window : window;
  if (step <= all_ended_ + distance) return true;
  all_ended_ = std::numeric_limits<std::uint64_t>::max();
  for (int rank = 0; rank < size(); ++rank) {
    all_ended_ = std::min(all_ended_, area(rank).ended.step.load(std::memory_order_acquire));
  }
  return step <= all_ended_ + distance;
}

std::byte* NodeGroup::slot(int rank, std::uint64_t step) const {
  return area(rank).slots[step % window].data();
}

std::byte* NodeGroup::staging(int rank, std::uint64_t step) const {
  return areas_[static_cast<std::size_t>(rank)] + sizeof(Area) +
         step % staging_window * staging_bytes_;
}

void NodeGroup::set(Mark mark, std::uint64_t step) {
  Flag& flag = area(index_).marks[static_cast<std::size_t>(mark)][step % window];
  flag.step.store(step, std::memory_order_release);
}

bool NodeGroup::is_set(Mark mark, int rank, std::uint64_t step) const {
  const Flag& flag = area(rank).marks[static_cast<std::size_t>(mark)][step % window];
  return flag.step.load(std::memory_order_acquire) == step;
}

void NodeGroup::end(std::uint64_t step) {
  area(index_).ended.step.store(step, std::memory_order_release);
}

}  // namespace dllaunch
