// The loops over rows for architectures without a file of their own. On 64-bit Arm their vectors
// are NEON's.
#include "trainer/backends/onednn/sequences/row_loops.hpp"

namespace dllaunch::onednn {

std::vector<RowKernels> row_kernel_variants() {
  return {row_kernels()};
}

const RowKernels& row_kernels() {
  static const RowKernels portable{"portable",
                                   softmax_row<4>,
                                   softmax_backward_row<4>,
                                   sum_logits_row<4>,
                                   logit_gradients_row<4>,
                                   layer_norm_row<4>,
                                   layer_norm_backward_row<4>};
  return portable;
}

}  // namespace dllaunch::onednn
