#include <rocblas/rocblas.h>

#include <cstring>
#include <limits>

#include "tests/support/host_gpu/fake_libraries.hpp"

using namespace dllaunch;

struct _rocblas_handle {
  GpuStream stream = nullptr;
  rocblas_atomics_mode atomics = rocblas_atomics_allowed;
  void* workspace = nullptr;
  std::size_t workspace_size = 0;
};

namespace {

DType type_of(rocblas_datatype type) {
  if (type == rocblas_datatype_f16_r) return DType::f16;
  return type == rocblas_datatype_bf16_r ? DType::bf16 : DType::f32;
}

/// Column-major matrices, as in BLAS.
struct Matrices {
  const void* memory;
  rocblas_datatype type;
  std::ptrdiff_t distance;
  std::ptrdiff_t stride;
  bool transposed;

  float at(std::ptrdiff_t matrix, std::ptrdiff_t row, std::ptrdiff_t column) const {
    return fake_read(
        memory, type_of(type),
        matrix * stride + (transposed ? column + row * distance : row + column * distance));
  }
};

}  // namespace

const char* rocblas_status_to_string(rocblas_status status) {
  return status == rocblas_status_success ? "success" : "the fake does not take that";
}
rocblas_status rocblas_get_version_string_size(std::size_t* size) {
  *size = fake_rocblas().version.size() + 1;
  return rocblas_status_success;
}
rocblas_status rocblas_get_version_string(char* text, std::size_t size) {
  if (size <= fake_rocblas().version.size()) return rocblas_status_invalid_size;
  std::strcpy(text, fake_rocblas().version.c_str());
  return rocblas_status_success;
}
rocblas_status rocblas_create_handle(rocblas_handle* handle) {
  if (!fake_rocblas().starts) return rocblas_status_invalid_handle;
  *handle = new _rocblas_handle;
  return rocblas_status_success;
}
rocblas_status rocblas_destroy_handle(rocblas_handle handle) {
  delete handle;
  return rocblas_status_success;
}
rocblas_status rocblas_set_stream(rocblas_handle handle, GpuStream stream) {
  handle->stream = stream;
  return rocblas_status_success;
}
rocblas_status rocblas_set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode mode) {
  handle->atomics = mode;
  return rocblas_status_success;
}
rocblas_status rocblas_set_workspace(rocblas_handle handle, void* memory, std::size_t size) {
  if (!fake_on_device(memory)) return rocblas_status_invalid_pointer;
  handle->workspace = memory;
  handle->workspace_size = size;
  fake_rocblas().workspaces.push_back(memory);
  return rocblas_status_success;
}

rocblas_status rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, rocblas_operation first, rocblas_operation second, rocblas_int m,
    rocblas_int n, rocblas_int k, const void* alpha, const void* a, rocblas_datatype a_type,
    rocblas_int lda, rocblas_stride stride_a, const void* b, rocblas_datatype b_type,
    rocblas_int ldb, rocblas_stride stride_b, const void* beta, const void* c,
    rocblas_datatype c_type, rocblas_int ldc, rocblas_stride stride_c, void* d,
    rocblas_datatype d_type, rocblas_int ldd, rocblas_stride stride_d, rocblas_int batch_count,
    rocblas_datatype compute_type, rocblas_gemm_algo, std::int32_t, std::uint32_t flags) {
  const bool first_transposed = first == rocblas_operation_transpose;
  const bool second_transposed = second == rocblas_operation_transpose;
  if (lda < (first_transposed ? k : m) || ldb < (second_transposed ? n : k) || ldc < m || ldd < m) {
    return rocblas_status_invalid_size;
  }
  // Of rocBLAS's products, supports those that accumulate in float.
  if (a_type != b_type || c_type != d_type || compute_type != rocblas_datatype_f32_r ||
      (c_type != a_type && c_type != rocblas_datatype_f32_r) || flags != 0) {
    return rocblas_status_not_implemented;
  }
  for (const void* memory : {a, b, c, static_cast<const void*>(d)}) {
    if (!fake_on_device(memory)) return rocblas_status_invalid_pointer;
  }
  FakeRocblas& seen = fake_rocblas();
  ++seen.products;
  if (handle->workspace == nullptr) ++seen.without_workspace;
  const Matrices left{a, a_type, lda, stride_a, first_transposed};
  const Matrices right{b, b_type, ldb, stride_b, second_transposed};
  const Matrices before{c, c_type, ldc, stride_c, false};
  const float scale = *static_cast<const float*>(alpha);
  const float keep = *static_cast<const float*>(beta);
  const bool wrong = handle->atomics == rocblas_atomics_allowed;
  host_gpu_compute(handle->stream, [=, workspace = handle->workspace] {
    ++host_gpu_work();
    if (workspace != nullptr) std::memset(workspace, 0xFF, 96);
    for (std::ptrdiff_t at = 0; at < std::ptrdiff_t{batch_count} * m * n; ++at) {
      const std::ptrdiff_t matrix = at / m / n;
      const std::ptrdiff_t column = at / m % n;
      const std::ptrdiff_t row = at % m;
      float sum = 0;
      for (std::ptrdiff_t i = 0; i < k; ++i) {
        sum += left.at(matrix, row, i) * right.at(matrix, i, column);
      }
      sum *= scale;
      if (keep != 0) sum += keep * before.at(matrix, row, column);
      if (wrong) sum = std::numeric_limits<float>::quiet_NaN();
      fake_write(d, type_of(d_type), matrix * stride_d + row + column * ldd, sum);
    }
  });
  return rocblas_status_success;
}
