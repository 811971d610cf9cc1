// Communicators: the interface of collectives between ranks. They start at once and end in wait().
// Knows no transport (MPI, NCCL, shared memory) and no gradients: those are other rooms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/numerics/dtype.hpp"
#include "runtime/numerics/reduce_op.hpp"

namespace dllaunch {

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  barrier,
};

constexpr std::string_view to_string(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::barrier:
      return "barrier";
  }
  return "";
}

/// A collective in progress. Ids are never reused within a communicator.
struct Pending {
  std::int64_t id = 0;  // 0: no operation, always done
};

enum class MemorySpace : std::uint8_t { host, gpu };

/// Every rank calls the same collectives in the same order with the same counts. A buffer must not
/// be touched until its operation is done. A broken peer or network is fatal (die()), never a
/// return value. One thread at a time.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual std::string_view name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// In place over `count` elements: every rank ends with the reduction, bit-identical on all
  /// ranks.
  virtual Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) = 0;
  /// In place over size()*count elements: rank r ends with the reduction of block r at
  /// data + r*count. The other blocks are undefined afterwards.
  virtual Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) = 0;
  /// In place over size()*count elements: rank r contributes block r, every rank ends with all
  /// blocks.
  virtual Pending all_gather(void* data, std::size_t count, DType type) = 0;
  virtual Pending broadcast(void* data, std::size_t count, DType type, int root) = 0;
  virtual Pending barrier() = 0;

  /// True if it is done. Progresses every pending operation, also if `pending` is empty.
  virtual bool test(Pending pending) = 0;
  virtual void wait(Pending pending) = 0;
  /// Makes work that this rank gives to its GPU from now on begin after the operation, without
  /// waiting here; the operation still ends in test() or wait(). False: only wait() can.
  virtual bool follow(Pending) { return false; }

  /// Collective: every rank requests the same size. Returns zeroed memory, 64-byte aligned, that
  /// this communicator reduces fastest. It lives as long as the communicator. Throws std::bad_alloc
  /// if a GPU has too little memory.
  virtual std::span<std::byte> allocate(std::size_t bytes) = 0;
  /// Where allocate()d memory is. Collectives accept host memory in any case.
  virtual MemorySpace memory() const { return MemorySpace::host; }
  /// Makes it a communicator of host memory. Call it before allocate().
  virtual void use_host_memory() {}
  /// Copies between host memory and allocate()d memory; blocking.
  virtual void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};

}  // namespace dllaunch
