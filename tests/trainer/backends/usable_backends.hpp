// The backends that work on this machine, for tests that compute. backend_test.cpp instead runs
// over backends(), all of the build, and reports those without a device as skipped.
#pragma once

#include <ostream>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {

inline void PrintTo(const BackendEntry& entry, std::ostream* out) {
  *out << entry.name;
}

/// Those whose results a program compares with `reference`: not itself where compute_test and
/// training_test have done so.
inline std::vector<BackendEntry> compared(std::vector<BackendEntry> all) {
#ifdef DLLAUNCH_REFERENCE_IS_COMPARED_ELSEWHERE
  std::erase_if(all, [](const BackendEntry& entry) { return entry.name == "reference"; });
#endif
  return all;
}

/// Returns them in the order of backends(): fastest first, `reference` last.
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
