// Kernels that are the same in every step, given to the GPU in one call: CUDA's graphs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "gpu_api.hpp"

namespace dllaunch::gpu {

/// What the kernels of a piece of work depend on, beside what lies in memory of the GPU.
struct Take {
  int piece = 0;
  bool accumulate = false;
  double scale = 0;
  friend bool operator<(const Take& a, const Take& b) {
    return std::tie(a.piece, a.accumulate, a.scale) < std::tie(b.piece, b.accumulate, b.scale);
  }
};

/// A piece is done as it is the first time, when libraries load what they need and find out what is
/// fastest; the second time it is recorded, and from then on played. A GPU's library that refuses
/// to record is no failure: all goes on as it began.
class Recordings {
 public:
  Recordings() = default;
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  /// On the default stream. enqueue(stream) gives the same kernels with the same arguments whenever
  /// it is called for this take, waits for nothing, and has no say in whether it is called.
  void run(const Take& take, const std::function<void(GpuStream)>& enqueue);
  /// Forgets all.
  void clear();

  /// Why nothing is recorded any more; empty: nothing was refused.
  const std::string& trouble() const { return trouble_; }

 private:
  GpuRecording record(const std::function<void(GpuStream)>& enqueue);
  void refuse(GpuStatus status);

  GpuStream stream_ = nullptr;          // that is recorded
  std::map<Take, GpuRecording> takes_;  // nullptr: was done once
  std::string trouble_;
};

}  // namespace dllaunch::gpu
