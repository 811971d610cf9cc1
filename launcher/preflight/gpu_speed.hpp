// Measures briefly how fast each GPU computes and transfers data.
#pragma once

#include <string>

#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Measures every GPU of the CUDA driver in this process: it may hang or crash, so call it in a
/// child. Returns {"found", "why", "gpus": [{"pci", "name", "why", "to_gpu", "from_gpu", "memory",
/// "peer", "tflops", "wrong"}]}. Transfers are in GB/s (1 GB = 1e9 bytes) of 64 MiB, the best of
/// four: from page-locked host memory, back to it, within GPU memory (read and written), and to the
/// next GPU if there is a direct path. tflops: single-precision multiply-adds; wrong: number of
/// threads whose sum differs from the CPU's. Missing measurements are left out, and so are GPUs not
/// reached within four seconds.
Json measure_gpu_speeds(const std::string& cuda_library);

}  // namespace dllaunch
