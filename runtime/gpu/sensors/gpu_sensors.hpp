// The sensors of one GPU, through its vendor's management library: opened by name where it is, so
// nothing is linked.
#pragma once

#include <memory>
#include <string>

#include "runtime/gpu/sensors/gpu_reading.hpp"
#include "support/result.hpp"
#include "topology/discovery/gpu_inventory.hpp"

namespace dllaunch {

/// Libraries may crash or hang in open() and in read(): call them in a child process, or on a
/// thread that can be left behind.
class GpuSensors {
 public:
  virtual ~GpuSensors() = default;
  virtual GpuReading read() = 0;

  /// The whole GPU at `pci` ("0000:c1:00.0"; of a MIG instance or a partition, the one that it is
  /// of), whichever library knows it. An index is nobody's name: libraries count differently.
  /// unavailable: neither does, and why.
  static Result<std::unique_ptr<GpuSensors>> open(const std::string& pci,
                                                  const GpuLibraries& libraries = {});
};

}  // namespace dllaunch
