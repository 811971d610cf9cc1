// How ranks of one node coordinate through shared memory. No MPI and no waiting; the ranks may be
// processes or, in tests, threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// Where a rank's data of a step can be read and written by the node's other ranks.
enum class Place : std::uint8_t {
  none,          // no data to share
  announcement,  // inside the announcement
  slot,          // small, but too large for the announcement
  staging,       // copied to staging from the caller's memory
  region,        // the caller's memory is shared
};

/// A rank's message on beginning a step: one cache line.
struct alignas(64) Announcement {
  static constexpr std::size_t payload_bytes = 24;

  std::atomic<std::uint64_t> step;  // written last; 0 before the first step
  std::uint64_t where;              // Place::region: region << 48 | offset in bytes
  std::uint64_t stride;             // bytes from block to block, if there are several
  std::uint32_t count;              // elements; of one block, if there are several
  std::int32_t root;                // of a broadcast
  CollectiveKind kind;
  DType type;
  ReduceOp op;
  Place place;
  std::array<std::byte, payload_bytes> payload;
};

/// Steps are numbered from 1, identically on all ranks; each rank begins and ends them in order.
/// Each step of a window has its own lines, so ranks may be that many steps apart.
class NodeGroup {
 public:
  static constexpr std::uint64_t window = 64;         // steps in progress
  static constexpr std::uint64_t staging_window = 8;  // of these, steps with data in staging
  static constexpr std::size_t slot_bytes =
      1024;  // of Place::slot: measured; larger data is faster in slices

  /// The size of the shared area that each rank provides.
  static std::size_t area_bytes(std::size_t staging_bytes);

  /// areas[r] is the zeroed area of the node's rank r; this is rank `index`.
  NodeGroup(int index, std::vector<std::byte*> areas, std::size_t staging_bytes);

  int index() const { return index_; }
  int size() const { return static_cast<int>(areas_.size()); }
  std::size_t staging_bytes() const { return staging_bytes_; }

  /// False while another rank may still read this rank's announcement of `window` steps ago or,
  /// with `staged`, its data in staging.
  bool may_begin(std::uint64_t step, bool staged);
  /// Fill in the announcement except its step, then call begin(), which publishes it atomically.
  Announcement& announcement(std::uint64_t step) { return line(index_, step); }
  void begin(std::uint64_t step) { line(index_, step).step.store(step, std::memory_order_release); }
  /// nullptr until rank `rank` has begun the step.
  const Announcement* begun(int rank, std::uint64_t step) const {
    const Announcement& said = line(rank, step);
    return said.step.load(std::memory_order_acquire) == step ? &said : nullptr;
  }

  std::byte* slot(int rank, std::uint64_t step) const;
  std::byte* staging(int rank, std::uint64_t step) const;

  /// Further progress of a rank in a step.
  enum class Mark { reduced, copied };
  void set(Mark mark, std::uint64_t step);
  bool is_set(Mark mark, int rank, std::uint64_t step) const;

  /// This rank no longer reads anything of this step or earlier ones.
  void end(std::uint64_t step);

 private:
  struct Area;
  Area& area(int rank) const;
  Announcement& line(int rank, std::uint64_t step) const;

  int index_;
  std::vector<std::byte*> areas_;
  std::size_t staging_bytes_;
  std::uint64_t all_ended_ = 0;  // known so far
};

}  // namespace dllaunch
