// The part of rocBLAS that the hip backend uses, on the host. Names, numbers and argument order are
// rocBLAS's; fake_rocblas.cpp computes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_api.hpp"

struct _rocblas_handle;
using rocblas_handle = _rocblas_handle*;
using rocblas_int = std::int32_t;
using rocblas_stride = std::int64_t;

enum rocblas_status {
  rocblas_status_success = 0,
  rocblas_status_invalid_handle = 1,
  rocblas_status_not_implemented = 2,
  rocblas_status_invalid_pointer = 3,
  rocblas_status_invalid_size = 4
};
enum rocblas_operation { rocblas_operation_none = 111, rocblas_operation_transpose = 112 };
enum rocblas_datatype {
  rocblas_datatype_f16_r = 150,
  rocblas_datatype_f32_r = 151,
  rocblas_datatype_bf16_r = 168
};
enum rocblas_atomics_mode { rocblas_atomics_not_allowed = 0, rocblas_atomics_allowed = 1 };
enum rocblas_gemm_algo { rocblas_gemm_algo_standard = 0 };
enum rocblas_gemm_flags { rocblas_gemm_flags_none = 0 };

extern "C" {
const char* rocblas_status_to_string(rocblas_status status);
rocblas_status rocblas_get_version_string_size(std::size_t* size);
rocblas_status rocblas_get_version_string(char* text, std::size_t size);
rocblas_status rocblas_create_handle(rocblas_handle* handle);
rocblas_status rocblas_destroy_handle(rocblas_handle handle);
rocblas_status rocblas_set_stream(rocblas_handle handle, dllaunch::GpuStream stream);
rocblas_status rocblas_set_atomics_mode(rocblas_handle handle, rocblas_atomics_mode mode);
rocblas_status rocblas_set_workspace(rocblas_handle handle, void* memory, std::size_t size);
rocblas_status rocblas_gemm_strided_batched_ex(
    rocblas_handle handle, rocblas_operation first, rocblas_operation second, rocblas_int m,
    rocblas_int n, rocblas_int k, const void* alpha, const void* a, rocblas_datatype a_type,
    rocblas_int lda, rocblas_stride stride_a, const void* b, rocblas_datatype b_type,
    rocblas_int ldb, rocblas_stride stride_b, const void* beta, const void* c,
    rocblas_datatype c_type, rocblas_int ldc, rocblas_stride stride_c, void* d,
    rocblas_datatype d_type, rocblas_int ldd, rocblas_stride stride_d, rocblas_int batch_count,
    rocblas_datatype compute_type, rocblas_gemm_algo algo, std::int32_t solution_index,
    std::uint32_t flags);
}
