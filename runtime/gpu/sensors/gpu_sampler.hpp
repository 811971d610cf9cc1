// Reads a GPU's sensors on a thread while its rank trains. The library may hang; nothing waits for
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/gpu/sensors/gpu_sensors.hpp"
#include "runtime/gpu/sensors/gpu_use.hpp"
#include "support/abandonable_thread.hpp"

namespace dllaunch {

struct GpuSamplerOptions {
  std::string pci = {};
  GpuLibraries libraries = {};
  std::chrono::milliseconds period{1000};
  /// Receives each kind of error once, at once: "GPU 0000:0f:00.0: XID 79, it has fallen off the
  /// bus; leave the node out ...". Called on the sampler's thread, which may outlive the sampler
  /// and its owner, so it must own what it captures.
  std::function<void(const std::string& line)> alarm = {};
};

class GpuSampler {
 public:
  explicit GpuSampler(GpuSamplerOptions options);
  /// Waits at most a quarter of a second, then abandons the thread.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// As GpuUseMeter::take().
  GpuUse take();
  void restart();
  /// Why nothing is read; empty if readings arrive or the first one is pending.
  std::string trouble() const;

 private:
  struct State;
  static void run(State& state, const GpuSamplerOptions& options);
  std::shared_ptr<State> state_;
  AbandonableThread thread_;
};

/// Turns readings into alarms, each kind once. Pure except for that memory.
class GpuAlarms {
 public:
  explicit GpuAlarms(std::string pci) : pci_(std::move(pci)) {}
  std::vector<std::string> of(const GpuReading& reading);

 private:
  std::string pci_;
  std::vector<unsigned> told_xids_;
  std::optional<std::uint64_t> ecc_errors_;  // of the first reading
  bool told_ecc_ = false;
  bool told_trouble_ = false;
};

}  // namespace dllaunch
