// A short look at how fast each GPU computes, and moves data to where it has to.
#pragma once

#include <string>

#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Of every GPU that the CUDA driver shows, in this process: it may hang or crash, so call it from
/// a child. {"found", "why", "gpus": [{"pci", "name", "why", "to_gpu", "from_gpu", "memory",
/// "peer", "tflops", "wrong"}]}. GB/s (1 GB = 1e9 bytes) of 64 MiB, the best of four: from
/// page-locked memory of the host, back, from the GPU's memory to its memory (read and written),
/// and to the next GPU where there is a direct way. tflops: of single-precision multiply-adds;
/// wrong: how many threads of that came to another sum than the CPU. What was not measured is left
/// out; after four seconds the remaining GPUs are.
Json measure_gpu_speeds(const std::string& cuda_library);

}  // namespace dllaunch
