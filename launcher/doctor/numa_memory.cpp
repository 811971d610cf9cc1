#include "launcher/doctor/numa_memory.hpp"

#include <fmt/core.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace dllaunch {
namespace {

constexpr std::size_t most_nodes = 1024;
constexpr std::size_t bits = 8 * sizeof(unsigned long);
using NodeMask = std::array<unsigned long, most_nodes / bits>;

Error unavailable(int numa, const std::string& why) {
  return {ErrorKind::unavailable, fmt::format("memory of NUMA node {}: {}", numa, why), ""};
}

bool prefer(void* data, std::size_t bytes, int numa) {
  NodeMask mask{};
  const auto node = static_cast<std::size_t>(numa);
  mask[node / bits] = 1UL << (node % bits);
  // The kernel reads one bit fewer than the given number.
  return syscall(SYS_mbind, data, bytes, MPOL_PREFERRED, mask.data(), most_nodes + 1, 0) == 0;
}

/// Returns the node that holds the page; -1 if unknown.
int node_of(void* page) {
  int node = -1;
  if (syscall(SYS_get_mempolicy, &node, nullptr, 0, page, MPOL_F_NODE | MPOL_F_ADDR) != 0)
    return -1;
  return node;
}

}  // namespace

Result<NumaMemory> NumaMemory::allocate(std::size_t bytes, int numa) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return unavailable(numa, std::strerror(errno));
  NumaMemory memory(data, bytes);
  if (numa >= static_cast<int>(most_nodes)) return unavailable(numa, "node number out of range");
  if (numa >= 0 && !prefer(data, bytes, numa)) return unavailable(numa, std::strerror(errno));
  std::memset(data, 0, bytes);
  if (numa < 0) return memory;
  for (const std::size_t at : {std::size_t{0}, bytes / 2, bytes - 1}) {
    const int node = node_of(static_cast<char*>(data) + at);
    if (node >= 0 && node != numa)
      return unavailable(numa, fmt::format("Linux took node {} instead", node));
  }
  return memory;
}

NumaMemory::~NumaMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace dllaunch
