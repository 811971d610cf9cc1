// Whether an emulator stands in for the kernel.
#pragma once

#include <cstdlib>

namespace dllaunch {

/// Returns true in a run of scripts/test-arm: qemu-user has no limit of memory, and its loader is
/// not the machine's.
inline bool under_an_emulator() {
  return std::getenv("DLLAUNCH_TEST_EMULATED") != nullptr;
}

}  // namespace dllaunch
