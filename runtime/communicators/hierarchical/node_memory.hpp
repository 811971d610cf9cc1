// Anonymous memory that the ranks of a node share.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/communicators/peers/peers.hpp"
#include "support/result.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {

/// One zeroed piece per rank, page-aligned. A rank that dies takes nothing from the others.
/// Anonymous files (memfd) rather than /dev/shm, which is 64 MiB in many containers.
class NodeMemory {
 public:
  /// Collective over the node: each rank contributes `bytes` and touches them first, so the pages
  /// are on its NUMA node. unavailable, on every rank, if any cannot open another's.
  static Result<std::unique_ptr<NodeMemory>> make(const Peers& node, std::size_t bytes);

  /// pieces()[r] is the piece of the node's rank r, at this process's address.
  const std::vector<std::byte*>& pieces() const { return pieces_; }

 private:
  explicit NodeMemory(std::size_t bytes) : bytes_(bytes) {}
  std::optional<Error> map(const FileDescriptor& memory);

  std::size_t bytes_;
  std::vector<MappedMemory> mapped_;
  std::vector<std::byte*> pieces_;
};

}  // namespace dllaunch
