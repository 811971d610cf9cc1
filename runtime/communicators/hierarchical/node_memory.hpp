// Memory that the ranks of a node share, with no name that anyone could leave behind.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/communicators/mpi/peers.hpp"
#include "support/result.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// One zeroed piece per rank, page-aligned; unmapped with this. A rank that dies takes nothing away
/// from the others. Anonymous files (memfd), not /dev/shm: that is 64 MiB in many containers.
class NodeMemory {
 public:
  /// Collective over the node: each rank brings `bytes`, touched first by itself, so that the
  /// pages lie on its NUMA node. unavailable, on every rank, where one cannot see another's.
  static Result<std::unique_ptr<NodeMemory>> make(const Peers& node, std::size_t bytes);

  /// pieces()[r] is what rank r of the node brought, at this rank's own address.
  const std::vector<std::byte*>& pieces() const { return pieces_; }

 private:
  explicit NodeMemory(std::size_t bytes) : bytes_(bytes) {}
  std::optional<Error> map(const FileDescriptor& memory);

  std::size_t bytes_;
  std::vector<MappedMemory> mapped_;
  std::vector<std::byte*> pieces_;
};

}  // namespace dllaunch
