#include "trainer/backends/gpu/layers/column_major.hpp"

namespace dllaunch::gpu {

ColumnMajor to_column_major(const MatmulShape& s) {
  return {.first_transposed = s.transpose_b,
          .second_transposed = s.transpose_a,
          .first_rows = s.transpose_b ? s.depth : s.columns,
          .first_columns = s.transpose_b ? s.columns : s.depth,
          .second_rows = s.transpose_a ? s.rows : s.depth,
          .second_columns = s.transpose_a ? s.depth : s.rows,
          .result_rows = s.columns,
          .result_columns = s.rows};
}

}  // namespace dllaunch::gpu
