// GPU sensors: utilization, clocks, power, temperature and errors of a GPU while a rank trains.
// Changes no setting of a GPU and writes no reports.
//
// Reads one GPU through its vendor's management library, opened at run time; nothing is linked.
#pragma once

#include <memory>
#include <string>

#include "runtime/gpu/sensors/gpu_reading.hpp"
#include "support/result.hpp"
#include "topology/discovery/gpu_inventory.hpp"

namespace dllaunch {

/// open() and read() may crash or hang inside the library: call them in a child process or on a
/// disposable thread.
class GpuSensors {
 public:
  virtual ~GpuSensors() = default;
  virtual GpuReading read() = 0;

  /// Opens the whole GPU at `pci` ("0000:c1:00.0"; for a MIG instance or a partition, its GPU) with
  /// the library that knows it. Indexes are not used: libraries number GPUs differently.
  /// unavailable: no library knows it; says why.
  static Result<std::unique_ptr<GpuSensors>> open(const std::string& pci,
                                                  const GpuLibraries& libraries = {});
};

}  // namespace dllaunch
