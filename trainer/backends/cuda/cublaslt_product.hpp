// Products of matrices by cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <memory>

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::cublaslt {

/// A product as cuBLASLt counts, by columns: what lies row by row is there its own transpose, so
/// c = a b is asked for as c' = b' a'. `first` is our b, `second` our a.
struct ColumnMajor {
  cublasOperation_t first_op = CUBLAS_OP_N;
  cublasOperation_t second_op = CUBLAS_OP_N;
  // Rows, columns; the distance of columns is the number of rows.
  std::int64_t first_rows = 0;
  std::int64_t first_columns = 0;
  std::int64_t second_rows = 0;
  std::int64_t second_columns = 0;
  std::int64_t result_rows = 0;
  std::int64_t result_columns = 0;
};
ColumnMajor by_columns(const gpu::ProductShape& shape);

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

/// The handle outlives it. Sums are in float and products not rounded to TF32. unavailable: no
/// algorithm takes this shape.
Result<std::unique_ptr<gpu::Product>> make_product(const Handle& handle,
                                                   const gpu::ProductShape& shape);

}  // namespace dllaunch::cublaslt
