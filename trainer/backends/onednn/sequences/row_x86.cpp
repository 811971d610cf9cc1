// The loops over rows for x86-64. The widest vectors are chosen at run time, so one build runs on
// every node.
#include "trainer/backends/onednn/sequences/row_loops.hpp"

namespace dllaunch::onednn {
namespace {

// One struct per instruction set: the target attribute applies to a function, not to the templates
// it instantiates.
struct Sse2Rows {
  static void softmax(float* x, std::size_t n, std::size_t padded, float scale) {
    softmax_row<4>(x, n, padded, scale);
  }
  static void softmax_backward(const float* p, float* dp, std::size_t n, float scale) {
    softmax_backward_row<4>(p, dp, n, scale);
  }
  static LogitSums sum_logits(const float* x, std::size_t n) { return sum_logits_row<4>(x, n); }
  static void logit_gradients(const float* x, float* dx, std::size_t n, float largest, float factor,
                              float shift) {
    logit_gradients_row<4>(x, dx, n, largest, factor, shift);
  }
  static void layer_norm(NormRow& row, float eps) { layer_norm_row<4>(row, eps); }
  static void layer_norm_backward(const NormRow& row) { layer_norm_backward_row<4>(row); }
};

struct Avx2Rows {
  [[gnu::target("avx2,fma")]] static void softmax(float* x, std::size_t n, std::size_t padded,
                                                  float scale) {
    softmax_row<8>(x, n, padded, scale);
  }
  [[gnu::target("avx2,fma")]] static void softmax_backward(const float* p, float* dp, std::size_t n,
                                                           float scale) {
    softmax_backward_row<8>(p, dp, n, scale);
  }
  [[gnu::target("avx2,fma")]] static LogitSums sum_logits(const float* x, std::size_t n) {
    return sum_logits_row<8>(x, n);
  }
  [[gnu::target("avx2,fma")]] static void logit_gradients(const float* x, float* dx, std::size_t n,
                                                          float largest, float factor,
                                                          float shift) {
    logit_gradients_row<8>(x, dx, n, largest, factor, shift);
  }
  [[gnu::target("avx2,fma")]] static void layer_norm(NormRow& row, float eps) {
    layer_norm_row<8>(row, eps);
  }
  [[gnu::target("avx2,fma")]] static void layer_norm_backward(const NormRow& row) {
    layer_norm_backward_row<8>(row);
  }
};

struct Avx512Rows {
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void softmax(
      float* x, std::size_t n, std::size_t padded, float scale) {
    softmax_row<16>(x, n, padded, scale);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void
  softmax_backward(const float* p, float* dp, std::size_t n, float scale) {
    softmax_backward_row<16>(p, dp, n, scale);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static LogitSums
  sum_logits(const float* x, std::size_t n) {
    return sum_logits_row<16>(x, n);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void
  logit_gradients(const float* x, float* dx, std::size_t n, float largest, float factor,
                  float shift) {
    logit_gradients_row<16>(x, dx, n, largest, factor, shift);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void
  layer_norm(NormRow& row, float eps) {
    layer_norm_row<16>(row, eps);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void
  layer_norm_backward(const NormRow& row) {
    layer_norm_backward_row<16>(row);
  }
};

template <typename Set>
RowKernels rows_of(const char* name) {
  return {name,
          Set::softmax,
          Set::softmax_backward,
          Set::sum_logits,
          Set::logit_gradients,
          Set::layer_norm,
          Set::layer_norm_backward};
}

}  // namespace

std::vector<RowKernels> row_kernel_variants() {
  std::vector<RowKernels> all = {rows_of<Sse2Rows>("sse2")};
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    all.push_back(rows_of<Avx2Rows>("avx2"));
  }
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
    all.push_back(rows_of<Avx512Rows>("avx512"));
  }
  return all;
}

const RowKernels& row_kernels() {
  static const RowKernels widest = row_kernel_variants().back();
  return widest;
}

}  // namespace dllaunch::onednn
