// The backends that work on this machine: what a test may compute with. Those of the build are
// backends(), over which backend_test.cpp goes and skips aloud what has no device here.
#pragma once

#include <ostream>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {

inline void PrintTo(const BackendEntry& entry, std::ostream* out) {
  *out << entry.name;
}

/// In the order of backends(): fastest first, `reference` last.
inline const std::vector<BackendEntry>& usable_backends() {
  static const std::vector<BackendEntry> usable = [] {
    std::vector<BackendEntry> found;
    for (const BackendEntry& entry : backends()) {
      if (entry.open()) found.push_back(entry);
    }
    return found;
  }();
  return usable;
}

}  // namespace dllaunch
