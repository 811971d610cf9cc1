// Batch normalisation's loops for x86-64. The widest vectors are chosen at run time, so one build
// runs on every node.
#include "trainer/backends/onednn/norm_loops.hpp"

namespace dllaunch::onednn {
namespace {

// One struct per instruction set: the target attribute applies to a function, not to the templates
// it instantiates.
template <typename T>
struct Sse2 {
  static void measure(const NormPiece& piece, float* mean, float* squares) {
    measure_piece<T, 16>(piece, mean, squares);
  }
  static void normalise(const NormPiece& piece) { normalise_any<T, 16>(piece); }
  static void sum(const NormPiece& piece, float* dy, float* dy_z) {
    sum_any<T, 16>(piece, dy, dy_z);
  }
  static void backward(const NormPiece& piece) { backward_any<T, 16>(piece); }
};

template <typename T>
struct Avx2 {
  [[gnu::target("avx2,fma")]] static void measure(const NormPiece& piece, float* mean,
                                                  float* squares) {
    measure_piece<T, 32>(piece, mean, squares);
  }
  [[gnu::target("avx2,fma")]] static void normalise(const NormPiece& piece) {
    normalise_any<T, 32>(piece);
  }
  [[gnu::target("avx2,fma")]] static void sum(const NormPiece& piece, float* dy, float* dy_z) {
    sum_any<T, 32>(piece, dy, dy_z);
  }
  [[gnu::target("avx2,fma")]] static void backward(const NormPiece& piece) {
    backward_any<T, 32>(piece);
  }
};

template <typename T>
struct Avx512 {
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void measure(
      const NormPiece& piece, float* mean, float* squares) {
    measure_piece<T, 64>(piece, mean, squares);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void
  normalise(const NormPiece& piece) {
    normalise_any<T, 64>(piece);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void sum(
      const NormPiece& piece, float* dy, float* dy_z) {
    sum_any<T, 64>(piece, dy, dy_z);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")]] static void
  backward(const NormPiece& piece) {
    backward_any<T, 64>(piece);
  }
};

template <typename Set>
NormKernels kernels_of(const char* name) {
  return {name, Set::measure, Set::normalise, Set::sum, Set::backward};
}

template <typename T>
std::vector<NormKernels> variants() {
  std::vector<NormKernels> all = {kernels_of<Sse2<T>>("sse2")};
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    all.push_back(kernels_of<Avx2<T>>("avx2"));
  }
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
    all.push_back(kernels_of<Avx512<T>>("avx512"));
  }
  return all;
}

}  // namespace

std::vector<NormKernels> norm_kernel_variants(DType type) {
  return type == DType::bf16 ? variants<BFloat16>() : variants<float>();
}

const NormKernels& norm_kernels(DType type) {
  static const NormKernels of_float = variants<float>().back();
  static const NormKernels of_bfloat16 = variants<BFloat16>().back();
  return type == DType::bf16 ? of_bfloat16 : of_float;
}

}  // namespace dllaunch::onednn
