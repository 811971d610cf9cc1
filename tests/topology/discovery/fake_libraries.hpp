// The stand-ins for the vendors' libraries that the tests build, and how they are to behave.
#pragma once

#include <cstdlib>
#include <string>

namespace dllaunch {

inline const std::string fake_nvml = DLLAUNCH_FAKE_NVML;
inline const std::string fake_rocm_smi = DLLAUNCH_FAKE_ROCM_SMI;

/// For its own lifetime, what the stand-ins do: "mig", "hang", ...
class FakeGpus {
 public:
  explicit FakeGpus(const char* behaviour) { setenv("DLLAUNCH_FAKE_GPUS", behaviour, 1); }
  ~FakeGpus() { unsetenv("DLLAUNCH_FAKE_GPUS"); }
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;
};

}  // namespace dllaunch
