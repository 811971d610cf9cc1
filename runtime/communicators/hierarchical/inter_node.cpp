#include "runtime/communicators/hierarchical/inter_node.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/communicators/hierarchical/leaf_exchange.hpp"
#include "runtime/communicators/hierarchical/node_parts.hpp"

namespace dllaunch {
namespace {

using Memory = std::shared_ptr<std::byte[]>;

/// The message tag of one round of one step, of any kind. Several steps are in progress at once,
/// and the two ends may post their messages in different orders.
std::uint64_t round_of(std::uint64_t step, std::uint64_t round) {
  return 2 * step + round;
}

Memory scratch(std::size_t bytes) {
  return Memory(new std::byte[bytes]);
}

}  // namespace

/// `others` holds the contributions of the other nodes, in node order, contiguous.
void InterNode::reduce_nodes(std::byte* own, const std::byte* others, std::size_t count,
                             const Reduction& reduction, std::byte* result) const {
  std::vector<const std::byte*> sources;
  for (int node = 0; node < nodes(); ++node) {
    if (node == peers_->rank()) {
      sources.push_back(own);
      continue;
    }
    sources.push_back(others);
    others += count * bytes_of(reduction.type);
  }
  if (leaves_) return reduce_by_leaf(*leaves_, sources, count, reduction, result);
  const std::array<std::byte*, 1> destination = {result};
  reduce(reduction, sources, destination, count);
}

Pending InterNode::all_reduce(std::byte* data, std::size_t count, const Reduction& reduction,
                              std::uint64_t step) {
  const std::size_t bytes = count * bytes_of(reduction.type);
  const bool few = nodes() <= limits_.most_nodes;
  if (few && bytes <= limits_.whole_bytes) return exchange_whole(data, count, reduction, step);
  if (few && limits_.by_leaf && leaves_) {
    const LeafExchange by_leaf{.peers = *peers_,
                               .leaves = *leaves_,
                               .data = data,
                               .count = count,
                               .reduction = reduction,
                               .rounds = {round_of(step, 0), round_of(step, 1)}};
    return begin(by_leaf);
  }
  if (few) return exchange_parts(data, count, reduction, step);

  const Pending exchange = peers_->open();
  peers_->all_reduce(exchange, data, count, reduction.type, reduction.op);
  if (reduction.op == ReduceOp::average) {
    peers_->at_end(exchange, [=] {
      const std::array<const std::byte*, 1> sum = {data};
      const std::array<std::byte*, 1> average = {data};
      reduce(reduction, sum, average, count);
    });
  }
  return exchange;
}

Pending InterNode::exchange_whole(std::byte* data, std::size_t count, const Reduction& reduction,
                                  std::uint64_t step) {
  const Pending exchange = peers_->open();
  const std::size_t bytes = count * bytes_of(reduction.type);
  Memory others = scratch(bytes * static_cast<std::size_t>(nodes() - 1));
  // Data must not change while it is being sent, but the reduction is in place.
  Memory own = scratch(bytes);
  std::copy_n(data, bytes, own.get());
  std::byte* to = others.get();
  for (int peer = 0; peer < nodes(); ++peer) {
    if (peer == node()) continue;
    peers_->receive(exchange, to, bytes, peer, round_of(step, 0));
    to += bytes;
  }
  for (int peer = 0; peer < nodes(); ++peer) {
    if (peer != node()) peers_->send(exchange, own.get(), bytes, peer, round_of(step, 0));
  }
  peers_->at_end(exchange, [=, this, own = std::move(own), others = std::move(others)] {
    reduce_nodes(own.get(), others.get(), count, reduction, data);
  });
  return exchange;
}

Pending InterNode::exchange_parts(std::byte* data, std::size_t count, const Reduction& reduction,
                                  std::uint64_t step) {
  const Pending exchange = peers_->open();
  const auto parts = NodeParts::of(count, bytes_of(reduction.type), nodes());
  const std::size_t mine = parts.bytes(node());
  Memory others = scratch(mine * static_cast<std::size_t>(nodes() - 1));
  std::byte* to = others.get();
  for (int peer = 0; peer < nodes() && mine > 0; ++peer) {
    if (peer == node()) continue;
    peers_->receive(exchange, to, mine, peer, round_of(step, 0));
    to += mine;
  }
  for (int peer = 0; peer < nodes(); ++peer) {
    if (peer == node() || parts.bytes(peer) == 0) continue;
    peers_->send(exchange, data + parts.offset(peer), parts.bytes(peer), peer, round_of(step, 0));
  }
  peers_->at_end(exchange, [=, this, others = std::move(others)] {
    std::byte* part = data + parts.offset(node());
    reduce_nodes(part, others.get(), parts.elements(node()), reduction, part);
    for (int peer = 0; peer < nodes(); ++peer) {
      if (peer == node()) continue;
      if (parts.bytes(peer) > 0) {
        peers_->receive(exchange, data + parts.offset(peer), parts.bytes(peer), peer,
                        round_of(step, 1));
      }
      if (mine > 0) peers_->send(exchange, part, mine, peer, round_of(step, 1));
    }
  });
  return exchange;
}

Pending InterNode::reduce_scatter(std::vector<Block> blocks, std::size_t count,
                                  const Reduction& reduction, std::uint64_t step) {
  const Pending exchange = peers_->open();
  const std::size_t bytes = count * bytes_of(reduction.type);
  const auto others = static_cast<std::size_t>(nodes() - 1);
  const auto is_mine = [this](const Block& block) { return block.node == node(); };
  const auto own = static_cast<std::size_t>(std::ranges::count_if(blocks, is_mine));
  Memory received = scratch(own * others * bytes);
  std::byte* to = received.get();
  for (const Block& block : blocks) {
    if (!is_mine(block)) {
      peers_->send(exchange, block.data, bytes, block.node, round_of(step, 0));
      continue;
    }
    for (int peer = 0; peer < nodes(); ++peer) {
      if (peer == node()) continue;
      peers_->receive(exchange, to, bytes, peer, round_of(step, 0));
      to += bytes;
    }
  }
  peers_->at_end(exchange, [=, this, blocks = std::move(blocks), received = std::move(received)] {
    const std::byte* from = received.get();
    for (const Block& block : blocks) {
      if (!is_mine(block)) continue;
      reduce_nodes(block.data, from, count, reduction, block.result);
      from += others * bytes;
    }
  });
  return exchange;
}

Pending InterNode::all_gather(const std::vector<Block>& blocks, std::size_t bytes,
                              std::uint64_t step) {
  const Pending exchange = peers_->open();
  for (const Block& block : blocks) {
    if (block.node != node()) {
      peers_->receive(exchange, block.data, bytes, block.node, round_of(step, 0));
      continue;
    }
    for (int peer = 0; peer < nodes(); ++peer) {
      if (peer != node()) peers_->send(exchange, block.data, bytes, peer, round_of(step, 0));
    }
  }
  return exchange;
}

Pending InterNode::broadcast(std::byte* data, std::size_t bytes, int root) {
  const Pending exchange = peers_->open();
  peers_->broadcast(exchange, data, bytes, root);
  return exchange;
}

Pending InterNode::barrier() {
  const Pending exchange = peers_->open();
  peers_->barrier(exchange);
  return exchange;
}

}  // namespace dllaunch
