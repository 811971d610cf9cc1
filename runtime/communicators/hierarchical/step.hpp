// A step of the hierarchical communicator: at most one staging buffer's worth of a collective.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/communicators/hierarchical/node_group.hpp"

namespace dllaunch {

/// A step passes through these in order. Its kind and the number of nodes decide which.
enum class StepState {
  queued,     // not begun: too far ahead of another rank
  begun,      // waits until every rank of the node has begun it
  exchanged,  // this rank's part is in progress between nodes
  reduced,    // this rank has done its part and waits for the others
  copied,     // this rank has all it needs; others may still read from it
  ended,
};

struct Step {
  std::uint64_t number = 0;
  std::uint64_t first = 0;  // number of its collective's first step
  CollectiveKind kind = CollectiveKind::barrier;
  DType type = DType::u8;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::byte* data = nullptr;  // the caller's; of block 0, if there are several
  std::size_t count = 0;      // elements; of one block, if there are several
  std::size_t stride = 0;     // bytes from block to block in `data`
  Place place = Place::none;
  std::uint64_t where = 0;

  StepState state = StepState::queued;
  int seen = 0;  // ranks of the node known to have reached what this state waits for
  Pending exchange = {};

  std::size_t bytes() const { return count * bytes_of(type); }  // of one block
};

}  // namespace dllaunch
