// The fake vendor libraries that the tests build, and how to configure them.
#pragma once

#include <cstdlib>
#include <string>

namespace dllaunch {

inline const std::string fake_nvml = DLLAUNCH_FAKE_NVML;
inline const std::string fake_rocm_smi = DLLAUNCH_FAKE_ROCM_SMI;

/// Sets the fakes' behavior during its lifetime: "mig", "hang", ...
class FakeGpus {
 public:
  explicit FakeGpus(const char* behaviour) { setenv("DLLAUNCH_FAKE_GPUS", behaviour, 1); }
  ~FakeGpus() { unsetenv("DLLAUNCH_FAKE_GPUS"); }
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;
};

}  // namespace dllaunch
