// Products of matrices by rocBLAS.
#pragma once

#include <rocblas/rocblas.h>

#include <memory>

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::rocblas {

/// As major*10000 + minor*100 + patch; 0: the library does not say.
int loaded_version();

class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (raw_ != nullptr) rocblas_destroy_handle(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  /// unavailable: rocBLAS cannot work here, in its words. It is told to leave out what adds up in
  /// another order each time.
  Result<Ok> open();
  rocblas_handle raw() const { return raw_; }
  /// What the next product works on; what stays as it was is not told again.
  rocblas_status use(GpuStream stream, void* workspace, std::size_t bytes);

 private:
  rocblas_handle raw_ = nullptr;
  GpuStream stream_ = nullptr;
  void* workspace_ = nullptr;
};

/// It keeps the handle. Sums are in float. bad_request: TF32, or a matrix beyond 2^31.
Result<std::unique_ptr<gpu::Matmul>> make_matmul(std::shared_ptr<Handle> handle,
                                                 const gpu::MatmulShape& shape);

}  // namespace dllaunch::rocblas
