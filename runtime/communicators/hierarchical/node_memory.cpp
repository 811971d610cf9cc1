#include "runtime/communicators/hierarchical/node_memory.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace dllaunch {
namespace {

Error failure(const Error& cause) {
  return Error{ErrorKind::unavailable,
               fmt::format("ranks of this node cannot share memory: {}", cause.what),
               "use runtime.allreduce: mpi"};
}

}  // namespace

std::optional<Error> NodeMemory::map(const FileDescriptor& memory) {
  auto piece = MappedMemory::map(memory, bytes_);
  if (!piece) return piece.error();
  std::byte* data = piece->bytes().data();
  ::madvise(data, bytes_, MADV_HUGEPAGE);  // fewer TLB misses if the kernel allows it
  mapped_.push_back(*std::move(piece));
  pieces_.push_back(data);
  return std::nullopt;
}

Result<std::unique_ptr<NodeMemory>> NodeMemory::make(const Peers& node, std::size_t bytes) {
  std::unique_ptr<NodeMemory> memory(new NodeMemory(bytes));
  std::optional<Error> error;
  auto own = make_shared_memory(bytes);
  if (!own) error = failure(own.error());
  const MemoryOffer mine = own ? offer_of(*own) : MemoryOffer{};
  const std::array<std::int64_t, 3> offer = {mine.pid, mine.fd, mine.inode};
  const auto offers = node.gather_all(offer);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(node.size()) && !error; ++rank) {
    auto theirs = open_shared_memory(
        {.pid = offers[3 * rank], .fd = offers[3 * rank + 1], .inode = offers[3 * rank + 2]});
    auto problem = theirs ? memory->map(*theirs) : std::optional<Error>(theirs.error());
    if (problem) error = failure(*problem);
  }
  // No rank closes before all have opened, and all succeed or none.
  const std::array<std::int64_t, 1> failed = {error ? 1 : 0};
  for (const std::int64_t each : node.gather_all(failed)) {
    if (each == 0 || error) continue;
    error = Error{ErrorKind::unavailable, "another rank of this node cannot share memory", ""};
  }
  if (error) return *std::move(error);
  std::memset(memory->pieces_[static_cast<std::size_t>(node.rank())], 0, bytes);
  return memory;
}

}  // namespace dllaunch
