// Row-major products as column-major BLAS calls, checked with a loop in place of BLAS.
#include "trainer/backends/gpu/layers/column_major.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace dllaunch::gpu {
namespace {

/// Returns op(first) op(second) as BLAS defines it, column-major.
std::vector<double> by_definition(const ColumnMajor& by, const std::vector<double>& first,
                                  const std::vector<double>& second) {
  const auto at = [](const std::vector<double>& m, std::int64_t rows, bool transposed,
                     std::int64_t i, std::int64_t j) {
    return m[static_cast<std::size_t>(transposed ? j + i * rows : i + j * rows)];
  };
  const std::int64_t depth = by.first_transposed ? by.first_rows : by.first_columns;
  EXPECT_EQ(depth, by.second_transposed ? by.second_columns : by.second_rows);
  EXPECT_EQ(by.result_rows, by.first_transposed ? by.first_columns : by.first_rows);
  EXPECT_EQ(by.result_columns, by.second_transposed ? by.second_rows : by.second_columns);
  std::vector<double> result(static_cast<std::size_t>(by.result_rows * by.result_columns));
  for (std::int64_t i = 0; i < by.result_rows; ++i) {
    for (std::int64_t j = 0; j < by.result_columns; ++j) {
      for (std::int64_t k = 0; k < depth; ++k) {
        result[static_cast<std::size_t>(i + j * by.result_rows)] +=
            at(first, by.first_rows, by.first_transposed, i, k) *
            at(second, by.second_rows, by.second_transposed, k, j);
      }
    }
  }
  return result;
}

TEST(ColumnMajor, ColumnsGiveTheRowsThatWereAskedFor) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const MatmulShape s{3, 4, 5, transpose_a, transpose_b, DType::f32, DType::f32};
      std::vector<double> a(15);
      std::vector<double> b(20);
      std::iota(a.begin(), a.end(), 1);
      std::iota(b.begin(), b.end(), -7);
      std::vector<double> wanted(12);
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          for (std::size_t k = 0; k < 5; ++k) {
            wanted[i * 4 + j] +=
                a[transpose_a ? k * 3 + i : i * 5 + k] * b[transpose_b ? j * 5 + k : k * 4 + j];
          }
        }
      }
      // Row-major is the column-major transpose.
      EXPECT_EQ(by_definition(to_column_major(s), b, a), wanted) << transpose_a << transpose_b;
    }
  }
}

}  // namespace
}  // namespace dllaunch::gpu
