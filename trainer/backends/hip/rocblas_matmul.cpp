#include "trainer/backends/hip/rocblas_matmul.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/layers/column_major.hpp"

namespace dllaunch::rocblas {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
constexpr float one = 1;
constexpr float zero = 0;

rocblas_datatype type_of(DType type) {
  if (type == DType::f16) return rocblas_datatype_f16_r;
  return type == DType::bf16 ? rocblas_datatype_bf16_r : rocblas_datatype_f32_r;
}

rocblas_operation operation_of(bool transposed) {
  return transposed ? rocblas_operation_transpose : rocblas_operation_none;
}

Error refusal(std::string_view call, rocblas_status status) {
  return {ErrorKind::unavailable,
          fmt::format("rocBLAS: {}: {}", call, rocblas_status_to_string(status)), ""};
}

class RocblasMatmul final : public gpu::Matmul {
 public:
  RocblasMatmul(std::shared_ptr<Handle> handle, const gpu::MatmulShape& shape)
      : handle_(std::move(handle)),
        by_(gpu::to_column_major(shape)),
        in_(type_of(shape.in)),
        out_(type_of(shape.out)),
        depth_(shape.depth),
        products_(shape.products) {}

  /// rocBLAS does not report what it needs, and is slower with less. The same size as for cuBLASLt.
  std::size_t workspace() const override { return workspace_bytes; }

  void run(GpuStream stream, const void* a, const void* b, void* c, bool add,
           void* workspace) override {
    const auto number = [](std::int64_t of) { return static_cast<rocblas_int>(of); };
    rocblas_status status = handle_->use(stream, workspace, workspace_bytes);
    if (status == rocblas_status_success) {
      const std::int64_t elements = by_.result_rows * by_.result_columns;
      status = rocblas_gemm_strided_batched_ex(
          handle_->raw(), operation_of(by_.first_transposed), operation_of(by_.second_transposed),
          number(by_.result_rows), number(by_.result_columns), number(depth_), &one, b, in_,
          number(by_.first_rows), by_.first_rows * by_.first_columns, a, in_,
          number(by_.second_rows), by_.second_rows * by_.second_columns, add ? &one : &zero, c,
          out_, number(by_.result_rows), elements, c, out_, number(by_.result_rows), elements,
          number(products_), rocblas_datatype_f32_r, rocblas_gemm_algo_standard, 0,
          rocblas_gemm_flags_none);
    }
    if (status != rocblas_status_success) {
      gpu::library_failed("rocBLAS", rocblas_status_to_string(status));
    }
  }

 private:
  std::shared_ptr<Handle> handle_;
  gpu::ColumnMajor by_;
  rocblas_datatype in_;
  rocblas_datatype out_;
  std::int64_t depth_;
  std::int64_t products_;
};

}  // namespace

int loaded_version() {
  std::size_t size = 0;
  if (rocblas_get_version_string_size(&size) != rocblas_status_success) return 0;
  std::string text(size, '\0');
  if (rocblas_get_version_string(text.data(), size) != rocblas_status_success) return 0;
  int version = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const int unit : {10000, 100, 1}) {  // "2.47.0." and a commit
    int part = 0;
    const auto read = std::from_chars(at, end, part);
    if (read.ec != std::errc{}) return 0;
    version += part * unit;
    at = std::min(read.ptr + 1, end);
  }
  return version;
}

Result<Ok> Handle::open() {
  rocblas_status status = rocblas_create_handle(&raw_);
  if (status != rocblas_status_success) {
    raw_ = nullptr;
    return refusal("start", status);
  }
  status = rocblas_set_atomics_mode(raw_, rocblas_atomics_not_allowed);
  if (status != rocblas_status_success) return refusal("order of sums", status);
  return Ok{};
}

rocblas_status Handle::use(GpuStream stream, void* workspace, std::size_t bytes) {
  rocblas_status status = rocblas_status_success;
  if (stream != stream_) status = rocblas_set_stream(raw_, stream);
  if (status != rocblas_status_success) return status;
  stream_ = stream;
  if (workspace != workspace_) status = rocblas_set_workspace(raw_, workspace, bytes);
  if (status == rocblas_status_success) workspace_ = workspace;
  return status;
}

Result<std::unique_ptr<gpu::Matmul>> make_matmul(std::shared_ptr<Handle> handle,
                                                 const gpu::MatmulShape& shape) {
  if (shape.tf32) {
    return Error{ErrorKind::bad_request, "rocBLAS: TF32 matmuls are not supported", ""};
  }
  if (std::max({shape.rows, shape.columns, shape.depth, shape.products}) >
      std::numeric_limits<rocblas_int>::max()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("rocBLAS: {} x {} x {} exceeds its 32-bit sizes", shape.rows,
                             shape.columns, shape.depth),
                 ""};
  }
  return std::unique_ptr<gpu::Matmul>(std::make_unique<RocblasMatmul>(std::move(handle), shape));
}

}  // namespace dllaunch::rocblas
