// What a run cost: the part of summary.json that launcher/accounting computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace dllaunch {

/// What is not known is absent, never 0.
struct Books {
  std::optional<double> core_hours = {};  // of the cores that the job occupied, without the queue
  std::optional<double> gpu_hours = {};   // a GPU that ranks share counts once
  std::optional<std::int64_t> peak_memory_bytes = {};                 // of the rank that had most
  std::string peak_memory_source = {};                                // trainer|kernel|sacct|mpirun
  std::vector<std::optional<std::int64_t>> peak_memory_by_rank = {};  // empty: unknown
  std::optional<double> energy_joules = {};
  std::string energy_source = {};             // sacct, or joined by +: rapl, nvml, rocm_smi
  std::optional<double> energy_seconds = {};  // of the run that its sources cover
  /// By interruptions: training that was lost with them, and the time until it went on.
  struct Wasted {
    std::optional<double> seconds = {};
    std::optional<double> core_hours = {};
    std::optional<double> gpu_hours = {};
  };
  Wasted wasted = {};
  Wasted held = {};  // of these, after errors (recovery.hold_on_error); unknown: nothing
};

/// Adds the keys to the object of summary.json; null: unknown.
void add_json(const Books& books, Json& summary);

/// What add_json() wrote; unknown: what the summary lacks.
Books books_from(const Json& summary);

/// The keys of add_json() alone, as a summary has them; null where it lacks one.
Json books_in(const Json& summary);

}  // namespace dllaunch
