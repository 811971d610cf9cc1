// The seam between ranks: collectives that start at once and end in wait().
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

/// A collective under way. Ids are never reused within a communicator.
struct Pending {
  std::int64_t id = 0;  // 0: nothing, always done
};

enum class MemorySpace : std::uint8_t { host, gpu };

/// Every rank calls the same collectives in the same order with the same counts. Buffers belong to
/// the communicator until the operation is done. A broken peer or network is die(), never a return
/// value. One thread at a time.
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
  /// data + r*count; what the other blocks hold afterwards is undefined.
  virtual Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) = 0;
  /// In place over size()*count elements: rank r brings block r, every rank ends with all blocks.
  virtual Pending all_gather(void* data, std::size_t count, DType type) = 0;
  virtual Pending broadcast(void* data, std::size_t count, DType type, int root) = 0;
  virtual Pending barrier() = 0;

  /// True when it is done. Progresses every pending operation, with an empty Pending too.
  virtual bool test(Pending pending) = 0;
  virtual void wait(Pending pending) = 0;

  /// Zeroed memory, 64-byte aligned, that this communicator reduces fastest; lives as long as it
  /// does. Collective: every rank asks for the same size.
  virtual std::span<std::byte> allocate(std::size_t bytes) = 0;
  /// Where that memory lies. Collectives take memory of the host in any case.
  virtual MemorySpace memory() const { return MemorySpace::host; }
  /// Between memory of the host and allocate()d memory; done when it returns.
  virtual void copy(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
};

}  // namespace dllaunch
