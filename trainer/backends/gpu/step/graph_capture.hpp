// Kernels that are the same in every step, given to the GPU in one call: CUDA's graphs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "gpu_api.hpp"

namespace dllaunch::gpu {

/// What the kernels of a piece of work depend on, beside what lies in memory of the GPU.
struct Take {
  enum class Kind { train, evaluate, backward };
  Kind kind = Kind::train;
  int first_node = 0;
  int last_node = 0;
  bool accumulate = false;
  friend bool operator<(const Take& a, const Take& b) {
    return std::tie(a.kind, a.first_node, a.last_node, a.accumulate) <
           std::tie(b.kind, b.first_node, b.last_node, b.accumulate);
  }
};

/// A piece is done as it is the first time, when libraries load what they need; the second time it
/// is recorded, and from then on played. A GPU or a library that refuses to record or to play is no
/// failure: from then on all is done as it was the first time.
class Recordings {
 public:
  Recordings() = default;
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  /// On the default stream. enqueue(stream) gives the same kernels with the same arguments whenever
  /// it is called for this take, waits for nothing, and leaves nothing else behind that matters.
  void run(const Take& take, const std::function<void(GpuStream)>& enqueue);
  /// Forgets all.
  void clear();

 private:
  GpuRecording record(const std::function<void(GpuStream)>& enqueue);
  void give_up(const std::string& why);

  std::map<Take, GpuRecording> takes_;  // nullptr: was done once
  bool given_up_ = false;
};

}  // namespace dllaunch::gpu
