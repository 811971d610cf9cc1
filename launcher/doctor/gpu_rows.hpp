// The present state of a node's GPUs: utilisation, memory, power, clock, throttling, errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/gpu/sensors/gpu_reading.hpp"
#include "support/json.hpp"
#include "topology/discovery/gpu_inventory.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {

struct GpuRow {
  std::string host = {};
  int index = -1;
  std::string pci = {};
  std::string name = {};
  GpuReading reading = {};
};

/// Returns one row per NVIDIA or AMD GPU of `node`; a partitioned GPU has one row. Reads in a child
/// process, since drivers may crash or hang: then every row says so. Opens nothing if there are no
/// GPUs.
std::vector<GpuRow> read_gpu_rows(const Topology& node, const std::string& host,
                                  const GpuLibraries& libraries = {});

/// {"host", "index", "pci", "name", "utilisation", "memory_used_bytes", "memory_total_bytes",
/// "power_w", "power_limit_w", "sm_clock_mhz", "most_sm_clock_mhz", "temperature_c", "throttled":
/// ["thermal"], "ecc_errors", "trouble"}; unknown values are null.
Json to_json(const GpuRow& row);
/// Returns nullopt if the object is invalid.
std::optional<GpuRow> gpu_row_from_json(const Json& document);

/// A table, faulty GPUs first; at most 16 rows, then a count. Empty without GPUs.
std::string render_gpus(const std::vector<GpuRow>& rows, bool color);

}  // namespace dllaunch
