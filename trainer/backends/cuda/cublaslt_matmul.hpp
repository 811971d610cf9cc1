// Matrix products by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <memory>

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::cublaslt {

class Handle {
 public:
  Handle() = default;
  ~Handle() {
    if (raw_ != nullptr) cublasLtDestroy(raw_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Result<Ok> open();
  cublasLtHandle_t raw() const { return raw_; }

 private:
  cublasLtHandle_t raw_ = nullptr;
};

/// Shares the handle. Accumulates in float; uses TF32 only if shape.tf32. unavailable: cuBLASLt has
/// no algorithm for this shape.
Result<std::unique_ptr<gpu::Matmul>> make_matmul(std::shared_ptr<const Handle> handle,
                                                 const gpu::MatmulShape& shape);

}  // namespace dllaunch::cublaslt
