// Products of matrices as BLAS libraries count them.
#pragma once

#include "trainer/backends/gpu/math_library.hpp"

namespace dllaunch::gpu {

/// A product by columns: what lies row by row is there its own transpose, so c = a b is asked for
/// as c' = b' a'. `first` is our b, `second` our a.
struct ColumnMajor {
  bool first_transposed = false;
  bool second_transposed = false;
  // Rows, columns; the distance of columns is the number of rows.
  std::int64_t first_rows = 0;
  std::int64_t first_columns = 0;
  std::int64_t second_rows = 0;
  std::int64_t second_columns = 0;
  std::int64_t result_rows = 0;
  std::int64_t result_columns = 0;
};
ColumnMajor to_column_major(const MatmulShape& shape);

}  // namespace dllaunch::gpu
