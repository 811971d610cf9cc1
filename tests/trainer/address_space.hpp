// How much memory this process has mapped: limits count from there.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace dllaunch {

/// Bytes.
inline std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// A sanitizer maps terabytes of its own, and ends the process where memory is refused.
inline bool memory_may_be_limited() {
  return address_space() < std::size_t{1} << 40;
}

}  // namespace dllaunch
