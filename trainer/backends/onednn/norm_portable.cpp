// Batch normalisation's loops for architectures without a file of their own. On 64-bit Arm their
// vectors are NEON's.
#include "trainer/backends/onednn/norm_loops.hpp"

namespace dllaunch::onednn {
namespace {

template <typename T>
NormKernels portable() {
  return {"portable", measure_piece<T, 16>, normalise_any<T, 16>, sum_any<T, 16>,
          backward_any<T, 16>};
}

}  // namespace

std::vector<NormKernels> norm_kernel_variants(DType type) {
  return {norm_kernels(type)};
}

const NormKernels& norm_kernels(DType type) {
  static const NormKernels of_float = portable<float>();
  static const NormKernels of_bfloat16 = portable<BFloat16>();
  return type == DType::bf16 ? of_bfloat16 : of_float;
}

}  // namespace dllaunch::onednn
