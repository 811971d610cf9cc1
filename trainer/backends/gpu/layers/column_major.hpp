// Matrix products in the column-major order of BLAS.
#pragma once

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// Operands of a BLAS call. Read as column-major, a row-major matrix is its transpose, so c = a b
/// becomes c' = b' a': `first` is our b, `second` our a.
struct ColumnMajor {
  bool first_transposed = false;
  bool second_transposed = false;
  // The leading dimension is the number of rows.
  std::int64_t first_rows = 0;
  std::int64_t first_columns = 0;
  std::int64_t second_rows = 0;
  std::int64_t second_columns = 0;
  std::int64_t result_rows = 0;
  std::int64_t result_columns = 0;
};
ColumnMajor to_column_major(const MatmulShape& shape);

}  // namespace dllaunch::gpu
