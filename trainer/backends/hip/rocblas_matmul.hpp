// Matrix products by rocBLAS.
#pragma once

#include <rocblas/rocblas.h>

#include <memory>

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::rocblas {

/// Returns major * 10000 + minor * 100 + patch; 0 if the library does not report it.
int loaded_version();

class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (raw_ != nullptr) rocblas_destroy_handle(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// Disables atomics, so that results are deterministic. unavailable: rocBLAS does not start;
  /// quotes its message.
  Result<Ok> open();
  rocblas_handle raw() const { return raw_; }
  /// Sets the stream and workspace of the next call. Skips what has not changed.
  rocblas_status use(GpuStream stream, void* workspace, std::size_t bytes);

 private:
  rocblas_handle raw_ = nullptr;
  GpuStream stream_ = nullptr;
  void* workspace_ = nullptr;
};

/// Shares the handle. Accumulates in float. bad_request: TF32, or an extent of 2^31 or more.
Result<std::unique_ptr<gpu::Matmul>> make_matmul(std::shared_ptr<Handle> handle,
                                                 const gpu::MatmulShape& shape);

}  // namespace dllaunch::rocblas
