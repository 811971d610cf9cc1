#include "runtime/communicators/hierarchical/leaf_exchange.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "runtime/communicators/hierarchical/node_parts.hpp"

namespace dllaunch {
namespace {

/// Of all but the last of several reductions.
Reduction part_of(const Reduction& reduction) {
  return {reduction.type, reduction.op == ReduceOp::average ? ReduceOp::sum : reduction.op};
}

/// Nodes of one leaf exchange in the first and the last of four rounds, nodes of different leaves
/// in the two between: two message tags are enough.
class Course : public std::enable_shared_from_this<Course> {
 public:
  explicit Course(const LeafExchange& exchange)
      : to_(exchange),
        peers_(exchange.peers),
        leaves_(exchange.leaves),
        parts_(NodeParts::of(exchange.count, bytes_of(exchange.reduction.type), peers_.size())),
        node_(peers_.rank()),
        leaf_(leaves_.leaf_of(node_)) {}

  Pending begin() {
    pending_ = peers_.open();
    collect_in_leaf();
    return pending_;
  }

 private:
  using Memory = std::unique_ptr<std::byte[]>;

  bool is_mine(int part) const { return leaves_.proxy(leaf_, part) == node_; }
  std::byte* at(int part) const { return to_.data + parts_.offset(part); }

  /// Continues when the messages of this round have ended; a node may have none.
  void then(void (Course::*next)()) {
    if (std::exchange(messages_, 0) == 0) return (this->*next)();
    peers_.at_end(pending_, [self = shared_from_this(), next] { (self.get()->*next)(); });
  }
  void send(int part, int to, std::size_t round) {
    ++messages_;
    peers_.send(pending_, at(part), parts_.bytes(part), to, to_.rounds.at(round));
  }
  void receive(int part, std::byte* into, int from, std::size_t round) {
    ++messages_;
    peers_.receive(pending_, into, parts_.bytes(part), from, to_.rounds.at(round));
  }
  void for_each_part(const std::function<void(int part)>& body) const {
    for (int part = 0; part < peers_.size(); ++part)
      if (parts_.bytes(part) > 0) body(part);
  }
  void for_each_mate(const std::function<void(int mate)>& body) const {
    for (int mate = leaves_.first(leaf_); mate < leaves_.first(leaf_ + 1); ++mate)
      if (mate != node_) body(mate);
  }
  void for_each_other_leaf(const std::function<void(int leaf)>& body) const {
    for (int leaf = 0; leaf < leaves_.leaves(); ++leaf)
      if (leaf != leaf_) body(leaf);
  }

  /// `others` holds the other contributions, in order; `before` of them come before this one.
  void sum(int part, const std::byte* others, int number, int before, const Reduction& reduction) {
    std::vector<const std::byte*> sources;
    for (int i = 0; i <= number; ++i) {
      sources.push_back(i == before ? at(part) : others);
      if (i != before) others += parts_.bytes(part);
    }
    const std::array<std::byte*, 1> result = {at(part)};
    reduce(reduction, sources, result, parts_.elements(part));
  }

  void collect_in_leaf() {
    std::size_t bytes = 0;
    for_each_part([&](int part) {
      if (is_mine(part))
        bytes += parts_.bytes(part) * static_cast<std::size_t>(leaves_.size(leaf_) - 1);
    });
    received_ = Memory(new std::byte[bytes]);
    std::byte* into = received_.get();
    for_each_part([&](int part) {
      if (!is_mine(part)) return send(part, leaves_.proxy(leaf_, part), 0);
      for_each_mate([&](int mate) {
        receive(part, into, mate, 0);
        into += parts_.bytes(part);
      });
    });
    then(&Course::collect_from_leaves);
  }

  void collect_from_leaves() {
    const int mates = leaves_.size(leaf_) - 1;
    const std::byte* others = received_.get();
    for_each_part([&](int part) {
      if (!is_mine(part) || mates == 0) return;
      sum(part, others, mates, node_ - leaves_.first(leaf_), part_of(to_.reduction));
      others += parts_.bytes(part) * static_cast<std::size_t>(mates);
    });
    received_ =
        Memory(new std::byte[parts_.bytes(node_) * static_cast<std::size_t>(leaves_.leaves() - 1)]);
    std::byte* into = received_.get();
    for_each_part([&](int part) {
      if (is_mine(part) && part != node_) send(part, part, 0);
      if (part != node_) return;
      for_each_other_leaf([&](int leaf) {
        receive(part, into, leaves_.proxy(leaf, part), 0);
        into += parts_.bytes(part);
      });
    });
    then(&Course::return_to_leaves);
  }

  void return_to_leaves() {
    if (parts_.bytes(node_) > 0)
      sum(node_, received_.get(), leaves_.leaves() - 1, leaf_, to_.reduction);
    for_each_part([&](int part) {
      if (part != node_ && is_mine(part)) receive(part, at(part), part, 1);
      if (part != node_) return;
      for_each_other_leaf([&](int leaf) { send(part, leaves_.proxy(leaf, part), 1); });
    });
    then(&Course::return_in_leaf);
  }

  void return_in_leaf() {
    for_each_part([&](int part) {
      if (!is_mine(part)) return receive(part, at(part), leaves_.proxy(leaf_, part), 1);
      for_each_mate([&](int mate) { send(part, mate, 1); });
    });
  }

  const LeafExchange to_;
  Peers& peers_;
  const NodeLeaves& leaves_;
  const NodeParts parts_;
  const int node_;
  const int leaf_;
  Pending pending_ = {};
  int messages_ = 0;  // of this round
  Memory received_;
};

}  // namespace

NodeLeaves::NodeLeaves(const std::vector<int>& sizes) {
  for (const int size : sizes) {
    first_.push_back(static_cast<int>(leaf_.size()));
    leaf_.insert(leaf_.end(), static_cast<std::size_t>(size), static_cast<int>(first_.size()) - 1);
  }
  first_.push_back(static_cast<int>(leaf_.size()));
}

int NodeLeaves::proxy(int leaf, int part) const {
  return leaf_of(part) == leaf ? part : first(leaf) + part % size(leaf);
}

void reduce_by_leaf(const NodeLeaves& leaves, std::span<const std::byte* const> sources,
                    std::size_t count, const Reduction& reduction, std::byte* result) {
  const std::size_t bytes = count * bytes_of(reduction.type);
  const std::unique_ptr<std::byte[]> sums(
      new std::byte[bytes * static_cast<std::size_t>(leaves.leaves())]);
  std::vector<const std::byte*> of_leaves;
  for (int leaf = 0; leaf < leaves.leaves(); ++leaf) {
    const auto first = static_cast<std::size_t>(leaves.first(leaf));
    const auto size = static_cast<std::size_t>(leaves.size(leaf));
    if (size == 1) {
      of_leaves.push_back(sources[first]);
      continue;
    }
    const std::array<std::byte*, 1> sum = {sums.get() + bytes * of_leaves.size()};
    reduce(part_of(reduction), sources.subspan(first, size), sum, count);
    of_leaves.push_back(sum[0]);
  }
  const std::array<std::byte*, 1> destination = {result};
  reduce(reduction, of_leaves, destination, count);
}

Pending begin(const LeafExchange& exchange) {
  return std::make_shared<Course>(exchange)->begin();
}

}  // namespace dllaunch
