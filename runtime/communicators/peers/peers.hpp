// Peers: a group of ranks and the messages between them, the base of our own communicators.
// An interface: each transport implements it in its own room, and no transport shows here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// A group keeps its transport alive, and its destructor ends what is in progress. A broken peer or
/// network is fatal (die()). One thread at a time.
class Peers {
 public:
  Peers() = default;
  virtual ~Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// The transport and its version, "Open_MPI_v4.1.4": measurements are kept under it.
  virtual std::string transport() const = 0;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Collective: the ranks of equal `colour`, ordered by `key`.
  virtual std::unique_ptr<Peers> split(int colour, int key) const = 0;
  /// Collective: the ranks that can share memory with this one.
  virtual std::unique_ptr<Peers> on_this_node() const = 0;

  /// The most that limit_messages() takes, which is also the limit of a new group.
  static constexpr std::size_t most_message_bytes = std::size_t{1} << 30;
  /// Returns the message size above which this rank's transport loses speed between nodes.
  virtual std::size_t best_message_bytes() const = 0;
  /// send() and receive() split what is larger. 1 to most_message_bytes, equal on all ranks.
  virtual void limit_messages(std::size_t bytes) = 0;

  /// An exchange is a set of messages; it is done when all of them are. `round` separates the
  /// messages of two exchanges between the same ranks and is equal on both sides.
  virtual Pending open() = 0;
  virtual void send(Pending exchange, const std::byte* data, std::size_t bytes, int to,
                    std::uint64_t round) = 0;
  virtual void receive(Pending exchange, std::byte* data, std::size_t bytes, int from,
                       std::uint64_t round) = 0;
  /// The transport's own all-reduce, in place, with the same bits on all ranks; an average stays a
  /// sum.
  virtual void all_reduce(Pending exchange, std::byte* data, std::size_t count, DType type,
                          ReduceOp op) = 0;
  virtual void broadcast(Pending exchange, std::byte* data, std::size_t bytes, int root) = 0;
  virtual void barrier(Pending exchange) = 0;

  /// Sets an action to run when the last message of `exchange` ends, before it counts as done. The
  /// action may add messages and another action, which continues the exchange.
  virtual void at_end(Pending exchange, std::function<void()> action) = 0;

  /// Lets messages move. Needed even if this rank waits for nothing: others may wait for what it
  /// sent.
  virtual void progress() = 0;
  virtual bool is_done(Pending exchange) const = 0;
  virtual void wait(Pending exchange) = 0;

  /// Returns every rank's `words`, in rank order. Blocking; for setup.
  virtual std::vector<std::int64_t> gather_all(std::span<const std::int64_t> words) const = 0;
};

}  // namespace dllaunch
