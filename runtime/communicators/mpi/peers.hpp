// A group of ranks and point-to-point messages: the base of our own communicators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/communicators/mpi/library.hpp"
#include "runtime/communicators/mpi/requests.hpp"

namespace dllaunch {

/// MPI must run during its lifetime. An MPI error is fatal (die()). One thread at a time.
class Peers {
 public:
  /// All ranks. Collective.
  static std::unique_ptr<Peers> world();
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Collective: the ranks of equal `colour`, ordered by `key`.
  std::unique_ptr<Peers> split(int colour, int key) const;
  /// Collective: the ranks that can share memory with this one.
  std::unique_ptr<Peers> on_this_node() const;

  int rank() const { return rank_; }
  int size() const { return size_; }

  static constexpr std::size_t most_bytes_of_mpi = std::size_t{1} << 30;  // counts are ints
  /// Maximum message size: send() and receive() split what is larger. 1 to most_bytes_of_mpi, equal
  /// on all ranks.
  void limit_messages(std::size_t bytes) { most_bytes_ = bytes; }

  /// An exchange is a set of messages; it is done when all of them are. `round` separates the
  /// messages of two exchanges between the same ranks and is equal on both sides.
  Pending open() { return requests_.open(); }
  void send(Pending exchange, const std::byte* data, std::size_t bytes, int to,
            std::uint64_t round);
  void receive(Pending exchange, std::byte* data, std::size_t bytes, int from, std::uint64_t round);
  /// MPI's own all-reduce, in place; an average stays a sum.
  void all_reduce(Pending exchange, std::byte* data, std::size_t count, DType type, ReduceOp op);
  void broadcast(Pending exchange, std::byte* data, std::size_t bytes, int root);
  void barrier(Pending exchange);

  /// As Requests::at_end.
  void at_end(Pending exchange, std::function<void()> action) {
    requests_.at_end(exchange, std::move(action));
  }

  /// Lets MPI make progress. Needed even if this rank waits for nothing: others may wait for what
  /// it sent.
  void progress();
  bool is_done(Pending exchange) const { return requests_.is_done(exchange); }
  void wait(Pending exchange) {
    while (!is_done(exchange)) requests_.wait_for_some();
  }

  /// Returns every rank's `words`, in rank order. Blocking; for setup.
  std::vector<std::int64_t> gather_all(std::span<const std::int64_t> words) const;

 private:
  explicit Peers(MPI_Comm comm);

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::size_t most_bytes_ = most_bytes_of_mpi;
  unsigned idle_ = 0;  // calls of progress() with nothing in progress
  MpiReductions reductions_;
  Requests requests_;
};

}  // namespace dllaunch
