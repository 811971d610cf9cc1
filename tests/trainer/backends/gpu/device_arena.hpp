// Arenas on the fake device, for tests.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "gpu_api.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

/// Arenas in the current device's memory, as a GPU communicator allocates them.
class DeviceArena {
 public:
  explicit DeviceArena(const std::vector<ParameterSlot>& slots) {
    for (const ParameterSlot& slot : slots) {
      void* memory = nullptr;
      EXPECT_EQ(gpu_allocate(&memory, slot.elements * sizeof(float)), gpu_success);
      pieces_.push_back(memory);
    }
  }
  ~DeviceArena() {
    for (void* piece : pieces_) EXPECT_EQ(gpu_free(piece), gpu_success);
  }
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;
  const std::vector<void*>& pieces() const { return pieces_; }

 private:
  std::vector<void*> pieces_;
};

}  // namespace dllaunch::gpu
