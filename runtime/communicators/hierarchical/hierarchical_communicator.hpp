// The engine of the hierarchical communicator: a queue of steps, and the work of each.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/communicators/hierarchical/inter_node.hpp"
#include "runtime/communicators/hierarchical/node_group.hpp"
#include "runtime/communicators/hierarchical/step.hpp"

namespace dllaunch {

/// The nodes of a job's ranks.
struct NodeMap {
  int rank = 0;
  std::vector<int> node;         // of each rank, 0 .. nodes-1
  std::vector<int> local_index;  // of each rank, within its node
  int columns = 1;               // inter-node groups: the smallest number of ranks on a node
  bool crowded = false;          // more ranks than CPUs: waiting must yield the CPU

  int size() const { return static_cast<int>(node.size()); }
  int inter_node(int of_rank) const {
    return local_index[static_cast<std::size_t>(of_rank)] % columns;
  }
};

/// Memory of a node's ranks, zeroed, one piece each, and its owner.
struct SharedPieces {
  std::vector<std::byte*> pieces;
  std::shared_ptr<void> owner;
};
/// Collective over the node. die() if there is none.
using ShareMemory = std::function<SharedPieces(std::size_t bytes)>;

/// Splits a collective into steps of at most `staging_bytes` per rank. Within the node a small step
/// costs one wait: every rank reads what all have announced. A larger one costs two: once all have
/// announced where their data is, each rank reduces its slice in place for all; once all have done
/// so, the step is complete. Data in allocate()d memory is never copied.
class HierarchicalCommunicator final : public Communicator {
 public:
  /// `inter_node` is null on a rank outside the inter-node groups, and if there is one node.
  HierarchicalCommunicator(NodeMap map, ShareMemory share, std::unique_ptr<InterNode> inter_node,
                           std::size_t staging_bytes);
  ~HierarchicalCommunicator() override { finish_all(); }
  HierarchicalCommunicator(const HierarchicalCommunicator&) = delete;
  HierarchicalCommunicator& operator=(const HierarchicalCommunicator&) = delete;

  std::string_view name() const override { return "hierarchical"; }
  int rank() const override { return map_.rank; }
  int size() const override { return map_.size(); }

  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override {
    return queue({.kind = CollectiveKind::all_reduce, .type = type, .op = op}, data, count, 1);
  }
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override {
    return queue({.kind = CollectiveKind::reduce_scatter, .type = type, .op = op}, data, count,
                 size());
  }
  Pending all_gather(void* data, std::size_t count, DType type) override {
    return queue({.kind = CollectiveKind::all_gather, .type = type}, data, count, size());
  }
  Pending broadcast(void* data, std::size_t count, DType type, int root) override {
    return queue({.kind = CollectiveKind::broadcast, .type = type, .root = root}, data, count, 1);
  }
  Pending barrier() override {
    begin({.number = next_, .first = next_, .kind = CollectiveKind::barrier});
    ++next_;
    return {static_cast<std::int64_t>(next_ - 1)};
  }

  bool test(Pending pending) override {
    progress();
    return is_done(static_cast<std::uint64_t>(pending.id));
  }
  void wait(Pending pending) override { finish(static_cast<std::uint64_t>(pending.id)); }

  std::span<std::byte> allocate(std::size_t bytes) override;

 private:
  struct Region {
    SharedPieces shared;
    std::size_t bytes = 0;
  };
  static NodeGroup make_group(const NodeMap& map, const SharedPieces& areas,
                              std::size_t staging_bytes);

  Pending queue(Step step, void* data, std::size_t count, int blocks);
  void begin(Step step);
  bool try_begin(Step& step);
  void choose_place(Step& step) const;
  void copy_in(Step& step, std::byte* to) const;
  bool is_done(std::uint64_t last_step) const;
  void finish(std::uint64_t last_step);
  void finish_all();
  void progress();
  bool advance(Step& step);

  bool all_begun(Step& step);
  bool all_marked(Step& step, NodeGroup::Mark mark);
  void check_same(const Step& step, const Announcement& theirs, int index) const;

  void work(Step& step);
  void work_alone(Step& step);
  void reduce_slice(Step& step);
  void scatter(Step& step);
  void gather(Step& step);
  void spread(Step& step);
  void finish_exchange(Step& step);
  void copy_out(Step& step);
  void mark_reduced(Step& step);
  void mark_copied(Step& step);

  /// The data of the node's rank `index`, readable and writable by all its ranks.
  std::byte* visible(int index, const Step& step) const;
  std::byte* visible_block(int index, const Step& step, int block) const;
  bool is_small(const Step& step) const {
    return !several_nodes() && step.place != Place::staging && step.place != Place::region;
  }
  bool several_nodes() const { return nodes_ > 1; }
  bool has_inter_node() const { return group_.index() < map_.columns; }
  int node_of(int world_rank) const { return map_.node[static_cast<std::size_t>(world_rank)]; }
  int index_of(int world_rank) const {
    return map_.local_index[static_cast<std::size_t>(world_rank)];
  }
  bool is_here(int world_rank) const { return node_of(world_rank) == node_of(map_.rank); }

  NodeMap map_;
  int nodes_;
  ShareMemory share_;
  SharedPieces areas_;
  NodeGroup group_;
  std::unique_ptr<InterNode> inter_node_;
  std::vector<Region> regions_;
  std::deque<Step> live_;
  std::uint64_t next_ = 1;                 // number of the next step
  std::uint64_t ended_ = 0;                // all steps up to this one
  std::vector<const std::byte*> sources_;  // of the current reduction
  std::vector<std::byte*> destinations_;
};

}  // namespace dllaunch
