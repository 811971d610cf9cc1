// A thread that reads a GPU's sensors while its rank trains. Libraries may hang: nobody ever waits
// for one.
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

namespace dllaunch {

struct GpuSamplerOptions {
  std::string pci = {};
  GpuLibraries libraries = {};
  std::chrono::milliseconds period{1000};
  /// Hears of each kind of error once, at once: "GPU 0000:0f:00.0: XID 79, it has fallen off the
  /// bus; leave the node out ...". On the sampler's thread, which may outlive the sampler and all
  /// else: it keeps what it needs.
  std::function<void(const std::string& line)> alarm = {};
};

class GpuSampler {
 public:
  explicit GpuSampler(GpuSamplerOptions options);
  /// Waits a quarter of a second at most; then the thread is left behind, with what it needs.
  ~GpuSampler();
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;

  /// As GpuUseMeter's.
  GpuUse take();
  void restart();
  /// Why nothing is read; empty: it is, or the first answer is still awaited.
  std::string trouble() const;

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

/// What a reading tells that somebody must hear, after what was told already. Pure but for that.
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
