// CUDA or HIP graphs: kernels that are the same in every step are launched with one call.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "gpu_api.hpp"

namespace dllaunch::gpu {

/// Identifies a piece of work: all that its kernels depend on besides GPU memory.
struct CaptureKey {
  enum class Kind { train, evaluate, backward };
  Kind kind = Kind::train;
  int first_node = 0;
  int last_node = 0;
  bool accumulate = false;
  friend bool operator<(const CaptureKey& a, const CaptureKey& b) {
    return std::tie(a.kind, a.first_node, a.last_node, a.accumulate) <
           std::tie(b.kind, b.first_node, b.last_node, b.accumulate);
  }
};

/// Runs a piece of work eagerly the first time, when libraries load what they need; captures it the
/// second time, and replays it from then on. If capture or replay fails, prints one warning and
/// runs everything eagerly from then on.
class GraphCapture {
 public:
  GraphCapture() = default;
  ~GraphCapture();
  GraphCapture(const GraphCapture&) = delete;
  GraphCapture& operator=(const GraphCapture&) = delete;

  /// Runs on the default stream. For a given key, enqueue(stream) must always launch the same
  /// kernels with the same arguments, must not wait, and must have no other side effects.
  void run(const CaptureKey& key, const std::function<void(GpuStream)>& enqueue);
  /// Destroys all graphs.
  void clear();

 private:
  GpuGraph capture(const std::function<void(GpuStream)>& enqueue);
  void give_up(const std::string& why);

  std::map<CaptureKey, GpuGraph> graphs_;  // nullptr: ran once, not captured
  bool given_up_ = false;
};

}  // namespace dllaunch::gpu
