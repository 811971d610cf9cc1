// The work of a rank in a step, apart from waiting: reductions and copies.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/communicators/hierarchical/hierarchical_communicator.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t slice_alignment = 64;  // bytes: ranks never share a cache line

/// Elements [begin, begin + count) of `total`, the share of one of `parts`.
struct Slice {
  std::size_t begin = 0;
  std::size_t count = 0;
};

Slice slice_of(std::size_t total, DType type, int part, int parts) {
  const std::size_t unit = slice_alignment / bytes_of(type);
  const auto n = static_cast<std::size_t>(parts);
  const std::size_t each = (total + n * unit - 1) / (n * unit) * unit;
  const std::size_t begin = std::min(total, static_cast<std::size_t>(part) * each);
  return {begin, std::min(each, total - begin)};
}

}  // namespace

// ---- after all ranks of the node have begun the step

void HierarchicalCommunicator::work(Step& step) {
  if (step.kind == CollectiveKind::barrier && !several_nodes()) {
    step.state = StepState::ended;
    return;
  }
  if (is_small(step)) {
    work_alone(step);
    return;
  }
  switch (step.kind) {
    case CollectiveKind::all_reduce:
      reduce_slice(step);
      return;
    case CollectiveKind::reduce_scatter:
      scatter(step);
      return;
    case CollectiveKind::all_gather:
      gather(step);
      return;
    case CollectiveKind::broadcast:
      spread(step);
      return;
    case CollectiveKind::barrier:
      if (group_.index() != 0) return mark_reduced(step);
      step.exchange = inter_node_->barrier();
      step.state = StepState::exchanged;
      return;
  }
}

/// For small data within one node: every rank reduces what all have announced, without a second
/// wait.
void HierarchicalCommunicator::work_alone(Step& step) {
  step.state = StepState::ended;
  if (step.kind == CollectiveKind::broadcast) {
    if (step.root == map_.rank) return;
    std::memcpy(step.data, visible(index_of(step.root), step), step.bytes());
    return;
  }
  if (step.kind == CollectiveKind::all_gather) {
    for (int rank = 0; rank < size(); ++rank) {
      std::byte* to = step.data + static_cast<std::size_t>(rank) * step.stride;
      if (rank != map_.rank) std::memcpy(to, visible(index_of(rank), step), step.bytes());
    }
    return;
  }
  sources_.clear();
  for (int index = 0; index < group_.size(); ++index) sources_.push_back(visible(index, step));
  const std::array<std::byte*, 1> destination = {step.data};
  reduce({step.type, step.op, size()}, sources_, destination, step.count);
}

void HierarchicalCommunicator::mark_reduced(Step& step) {
  group_.set(NodeGroup::Mark::reduced, step.number);
  step.state = StepState::reduced;
}

void HierarchicalCommunicator::mark_copied(Step& step) {
  group_.set(NodeGroup::Mark::copied, step.number);
  step.state = StepState::copied;
}

/// Each rank with an inter-node group reduces one slice into the memory of all ranks of the node.
void HierarchicalCommunicator::reduce_slice(Step& step) {
  if (!has_inter_node()) return mark_reduced(step);
  const Slice slice = slice_of(step.count, step.type, group_.index(), map_.columns);
  if (slice.count == 0) return mark_reduced(step);
  const std::size_t offset = slice.begin * bytes_of(step.type);
  sources_.clear();
  destinations_.clear();
  for (int index = 0; index < group_.size(); ++index) {
    std::byte* data = visible(index, step) + offset;
    sources_.push_back(data);
    if (!several_nodes() || index == group_.index()) destinations_.push_back(data);
  }
  const Reduction whole{step.type, step.op, size()};
  const Reduction part{step.type, step.op == ReduceOp::average ? ReduceOp::sum : step.op};
  reduce(several_nodes() ? part : whole, sources_, destinations_, slice.count);
  if (!several_nodes()) return mark_reduced(step);
  step.exchange = inter_node_->all_reduce(destinations_[0], slice.count, whole, step.number);
  step.state = StepState::exchanged;
}

/// Each rank with an inter-node group reduces the blocks of that group, each for its owner.
void HierarchicalCommunicator::scatter(Step& step) {
  if (!has_inter_node()) return mark_reduced(step);
  const Reduction whole{step.type, step.op, size()};
  const Reduction part{step.type, step.op == ReduceOp::average ? ReduceOp::sum : step.op};
  std::vector<InterNode::Block> blocks;
  for (int owner = 0; owner < size(); ++owner) {
    if (map_.inter_node(owner) != group_.index()) continue;
    sources_.clear();
    for (int index = 0; index < group_.size(); ++index) {
      sources_.push_back(visible_block(index, step, owner));
    }
    std::byte* mine = visible_block(group_.index(), step, owner);
    std::byte* result = is_here(owner) ? visible_block(index_of(owner), step, owner) : nullptr;
    const std::array<std::byte*, 1> destination = {several_nodes() ? mine : result};
    reduce(several_nodes() ? part : whole, sources_, destination, step.count);
    blocks.push_back({.node = node_of(owner), .data = mine, .result = result});
  }
  if (!several_nodes()) return mark_reduced(step);
  step.exchange = inter_node_->reduce_scatter(std::move(blocks), step.count, whole, step.number);
  step.state = StepState::exchanged;
}

/// Each rank with an inter-node group exchanges that group's blocks with the other nodes.
void HierarchicalCommunicator::gather(Step& step) {
  if (!several_nodes() || !has_inter_node()) return mark_reduced(step);
  std::vector<InterNode::Block> blocks;
  for (int owner = 0; owner < size(); ++owner) {
    if (map_.inter_node(owner) != group_.index()) continue;
    const int holder = is_here(owner) ? index_of(owner) : group_.index();
    blocks.push_back({.node = node_of(owner), .data = visible_block(holder, step, owner)});
  }
  step.exchange = inter_node_->all_gather(blocks, step.bytes(), step.number);
  step.state = StepState::exchanged;
}

/// The first rank of each node forwards the data between nodes.
void HierarchicalCommunicator::spread(Step& step) {
  if (!several_nodes() || group_.index() != 0) return mark_reduced(step);
  std::byte* data = visible(is_here(step.root) ? index_of(step.root) : 0, step);
  step.exchange = inter_node_->broadcast(data, step.bytes(), node_of(step.root));
  step.state = StepState::exchanged;
}

void HierarchicalCommunicator::finish_exchange(Step& step) {
  if (step.kind == CollectiveKind::all_reduce) {
    const Slice slice = slice_of(step.count, step.type, group_.index(), map_.columns);
    const std::size_t offset = slice.begin * bytes_of(step.type);
    const std::byte* result = visible(group_.index(), step) + offset;
    for (int index = 0; index < group_.size(); ++index) {
      if (index == group_.index()) continue;
      std::memcpy(visible(index, step) + offset, result, slice.count * bytes_of(step.type));
    }
  }
  mark_reduced(step);
}

// ---- after all ranks of the node have done their part

void HierarchicalCommunicator::copy_out(Step& step) {
  const bool staged = step.place == Place::staging;
  step.state = StepState::ended;
  switch (step.kind) {
    case CollectiveKind::all_reduce:
      if (staged) std::memcpy(step.data, visible(group_.index(), step), step.bytes());
      return;
    case CollectiveKind::reduce_scatter: {
      const auto offset = static_cast<std::size_t>(map_.rank) * step.stride;
      const std::byte* mine = visible_block(group_.index(), step, map_.rank);
      if (staged) std::memcpy(step.data + offset, mine, step.bytes());
      return;
    }
    case CollectiveKind::all_gather:
      for (int owner = 0; owner < size(); ++owner) {
        const int holder = is_here(owner) ? index_of(owner) : map_.inter_node(owner);
        std::byte* to = step.data + static_cast<std::size_t>(owner) * step.stride;
        const std::byte* from = visible_block(holder, step, owner);
        if (to != from && owner != map_.rank) std::memcpy(to, from, step.bytes());
      }
      return mark_copied(step);
    case CollectiveKind::broadcast:
      if (step.root != map_.rank) {
        const std::byte* from = visible(is_here(step.root) ? index_of(step.root) : 0, step);
        if (step.data != from) std::memcpy(step.data, from, step.bytes());
      }
      return mark_copied(step);
    case CollectiveKind::barrier:
      return;
  }
}

}  // namespace dllaunch
