// The fake vendor libraries that the tests build, and how to configure their sensors.
#pragma once

#include <cstdlib>
#include <string>

#include "topology/discovery/gpu_inventory.hpp"

namespace dllaunch {

inline const std::string fake_nvml_state = DLLAUNCH_FAKE_NVML_STATE;
inline const std::string fake_nvml = DLLAUNCH_FAKE_NVML;  // with hardly any function
inline const std::string fake_rocm_smi = DLLAUNCH_FAKE_ROCM_SMI;

inline GpuLibraries fake_libraries() {
  return {.nvml = fake_nvml_state, .rocm_smi = fake_rocm_smi};
}

/// Sets the fakes' behavior during its lifetime: "hot", "xid", ... They read it at each call. For
/// calls from a thread, set it before the thread starts and until the process ends.
class FakeSensors {
 public:
  explicit FakeSensors(const char* behaviour) { setenv("DLLAUNCH_FAKE_GPUS", behaviour, 1); }
  ~FakeSensors() { unsetenv("DLLAUNCH_FAKE_GPUS"); }
  FakeSensors(const FakeSensors&) = delete;
  FakeSensors& operator=(const FakeSensors&) = delete;
};

}  // namespace dllaunch
