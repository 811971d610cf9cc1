// How tests configure and inspect the fake MIOpen and rocBLAS.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <miopen/miopen.h>

#include "runtime/numerics/dtype.hpp"
#include "runtime/numerics/float16.hpp"

namespace dllaunch {

/// Solutions by number. Those that must not be chosen yield NaN.
constexpr std::uint64_t fake_winograd = 7;
constexpr std::uint64_t fake_fft = 9;
constexpr std::uint64_t fake_shuffled = 21;    // listed only if the order may change
constexpr std::uint64_t fake_rounded = 23;     // listed only if f16 may be rounded to bf16
constexpr std::uint64_t fake_tf32 = 25;        // listed only if f32 may be, from MIOpen 3.5.2 on
constexpr std::uint64_t fake_uncompiled = 37;  // fails to compile
constexpr std::uint64_t fake_hungry = 41;      // needs more workspace than there is
constexpr std::uint64_t fake_implicit = 31;    // with a workspace
constexpr std::uint64_t fake_direct = 35;      // without

struct FakeMiopen {
  std::vector<std::size_t> version = {MIOPEN_VERSION_MAJOR, MIOPEN_VERSION_MINOR,
                                      MIOPEN_VERSION_PATCH};
  bool starts = true;
  /// In the order in which they are listed; fake_shuffled and the like only if the convolution
  /// permits.
  std::vector<std::uint64_t> solutions = {fake_winograd,   fake_fft,      fake_hungry,
                                          fake_uncompiled, fake_tf32,     fake_shuffled,
                                          fake_rounded,    fake_implicit, fake_direct};
  std::set<std::uint64_t> fails = {};                             // compile, but fail to run
  std::map<std::uint64_t, std::chrono::milliseconds> takes = {};  // minimum duration of a solution
  std::vector<std::uint64_t> runs = {};                           // so far
  std::vector<miopenAcceleratorQueue_t> streams = {};             // passed by the caller
};
inline FakeMiopen& fake_miopen() {
  static FakeMiopen fake;
  return fake;
}

struct FakeRocblas {
  std::string version = "4.2.1.5f2e1a";
  bool starts = true;
  std::size_t products = 0;
  std::size_t without_workspace = 0;   // of the runs
  std::vector<void*> workspaces = {};  // passed by the caller
};
inline FakeRocblas& fake_rocblas() {
  static FakeRocblas fake;
  return fake;
}

/// Reads one element of a type.
inline float fake_read(const void* memory, DType type, std::ptrdiff_t i) {
  if (type == DType::f16) return to_float(static_cast<const Float16*>(memory)[i]);
  if (type == DType::bf16) return to_float(static_cast<const BFloat16*>(memory)[i]);
  return static_cast<const float*>(memory)[i];
}
inline void fake_write(void* memory, DType type, std::ptrdiff_t i, float value) {
  if (type == DType::f16) {
    static_cast<Float16*>(memory)[i] = to_float16(value);
  } else if (type == DType::bf16) {
    static_cast<BFloat16*>(memory)[i] = to_bfloat16(value);
  } else {
    static_cast<float*>(memory)[i] = value;
  }
}
/// Whether it is on the current thread's device.
inline bool fake_on_device(const void* memory) {
  return host_gpu_of(memory) == host_gpu_of_thread();
}

}  // namespace dllaunch
