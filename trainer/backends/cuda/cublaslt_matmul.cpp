#include "trainer/backends/cuda/cublaslt_matmul.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <numeric>
#include <utility>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/layers/column_major.hpp"

namespace dllaunch::cublaslt {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
constexpr std::uint32_t alignment = 64;  // bytes: of arena slots, the least aligned matrices

cudaDataType_t type_of(DType type) {
  if (type == DType::f16) return CUDA_R_16F;
  return type == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

Error refusal(std::string_view call, cublasStatus_t status) {
  return {ErrorKind::unavailable,
          fmt::format("cuBLASLt: {}: {}", call, cublasLtGetStatusString(status)), ""};
}

/// Dense column-major matrices, one after another.
class Layout {
 public:
  Layout(DType type, std::int64_t rows, std::int64_t columns, std::int64_t matrices)
      : alignment_(matrices == 1 ? alignment : aligned_each(type, rows * columns)) {
    status_ = cublasLtMatrixLayoutCreate(&raw_, type_of(type), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(columns), rows);
    if (matrices == 1) return;
    const auto count = static_cast<std::int32_t>(matrices);
    const std::int64_t elements = rows * columns;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, elements);
  }
  ~Layout() {
    if (raw_ != nullptr) cublasLtMatrixLayoutDestroy(raw_);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t raw() const { return raw_; }
  cublasStatus_t status() const { return status_; }
  std::uint32_t alignment_of_each() const { return alignment_; }

 private:
  static std::uint32_t aligned_each(DType type, std::int64_t elements) {
    const auto bytes = elements * static_cast<std::int64_t>(bytes_of(type));
    return static_cast<std::uint32_t>(std::gcd(std::int64_t{alignment}, bytes));
  }
  template <typename Value>
  void set(cublasLtMatrixLayoutAttribute_t name, const Value& value) {
    if (status_ != CUBLAS_STATUS_SUCCESS) return;
    status_ = cublasLtMatrixLayoutSetAttribute(raw_, name, &value, sizeof value);
  }

  std::uint32_t alignment_;
  cublasLtMatrixLayout_t raw_ = nullptr;
  cublasStatus_t status_ = CUBLAS_STATUS_SUCCESS;
};

class CublasltMatmul final : public gpu::Matmul {
 public:
  CublasltMatmul(std::shared_ptr<const Handle> handle, const gpu::MatmulShape& shape)
      : handle_(std::move(handle)),
        tf32_(shape.tf32),
        by_(gpu::to_column_major(shape)),
        first_(shape.in, by_.first_rows, by_.first_columns, shape.products),
        second_(shape.in, by_.second_rows, by_.second_columns, shape.products),
        result_(shape.out, by_.result_rows, by_.result_columns, shape.products) {}
  ~CublasltMatmul() override {
    if (matmul_ != nullptr) cublasLtMatmulDescDestroy(matmul_);
  }
  CublasltMatmul(const CublasltMatmul&) = delete;
  CublasltMatmul& operator=(const CublasltMatmul&) = delete;

  Result<Ok> prepare() {
    for (const Layout* layout : {&first_, &second_, &result_}) {
      if (layout->status() != CUBLAS_STATUS_SUCCESS) return refusal("layout", layout->status());
    }
    cublasStatus_t status = cublasLtMatmulDescCreate(
        &matmul_, tf32_ ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (status != CUBLAS_STATUS_SUCCESS) return refusal("product", status);
    const std::pair<cublasLtMatmulDescAttributes_t, bool> transposed[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, by_.first_transposed},
        {CUBLASLT_MATMUL_DESC_TRANSB, by_.second_transposed}};
    for (const auto& [name, is_transposed] : transposed) {
      const cublasOperation_t op = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
      status = cublasLtMatmulDescSetAttribute(matmul_, name, &op, sizeof op);
      if (status != CUBLAS_STATUS_SUCCESS) return refusal("product", status);
    }
    return choose();
  }

  std::size_t workspace() const override { return chosen_.workspaceSize; }

  void run(GpuStream stream, const void* a, const void* b, void* c, bool add,
           void* workspace) override {
    const float alpha = 1;
    const float beta = add ? 1 : 0;
    const cublasStatus_t status = cublasLtMatmul(
        handle_->raw(), matmul_, &alpha, b, first_.raw(), a, second_.raw(), &beta, c, result_.raw(),
        c, result_.raw(), &chosen_.algo, workspace, chosen_.workspaceSize, stream);
    if (status != CUBLAS_STATUS_SUCCESS) {
      gpu::library_failed("cuBLASLt", cublasLtGetStatusString(status));
    }
  }

 private:
  Result<Ok> choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    cublasStatus_t status = cublasLtMatmulPreferenceCreate(&preference);
    if (status != CUBLAS_STATUS_SUCCESS) return refusal("preference", status);
    status =
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &workspace_bytes, sizeof workspace_bytes);
    const std::pair<cublasLtMatmulPreferenceAttributes_t, const Layout*> aligned[] = {
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &first_},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &second_},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &result_},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &result_}};
    for (const auto& [name, layout] : aligned) {
      if (status != CUBLAS_STATUS_SUCCESS) break;
      const std::uint32_t bytes = layout->alignment_of_each();
      status = cublasLtMatmulPreferenceSetAttribute(preference, name, &bytes, sizeof bytes);
    }
    int count = 0;
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublasLtMatmulAlgoGetHeuristic(handle_->raw(), matmul_, first_.raw(), second_.raw(),
                                              result_.raw(), result_.raw(), preference, 1, &chosen_,
                                              &count);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS) return refusal("choice of an algorithm", status);
    if (count == 0) return refusal("choice of an algorithm", CUBLAS_STATUS_NOT_SUPPORTED);
    return Ok{};
  }

  std::shared_ptr<const Handle> handle_;
  bool tf32_;
  gpu::ColumnMajor by_;
  Layout first_;
  Layout second_;
  Layout result_;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
};

}  // namespace

Result<Ok> Handle::open() {
  const cublasStatus_t status = cublasLtCreate(&raw_);
  if (status == CUBLAS_STATUS_SUCCESS) return Ok{};
  raw_ = nullptr;
  return refusal("start", status);
}

Result<std::unique_ptr<gpu::Matmul>> make_matmul(std::shared_ptr<const Handle> handle,
                                                 const gpu::MatmulShape& shape) {
  auto made = std::make_unique<CublasltMatmul>(std::move(handle), shape);
  auto prepared = made->prepare();
  if (!prepared) return std::move(prepared).error();
  return std::unique_ptr<gpu::Matmul>(std::move(made));
}

}  // namespace dllaunch::cublaslt
