// What a run cost, from what was measured. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/accounting/event_readings.hpp"
#include "launcher/plan/run_outline.hpp"
#include "launcher/run/books.hpp"
#include "launcher/slurm/job_usage.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct RunReadings {
  std::optional<double> seconds = {};         // in its allocations; of an array all tasks
  std::optional<double> nodes = {};           // that it had on average; nullopt: as planned
  std::optional<double> wasted_seconds = {};  // by interruptions
  double held_seconds = 0;                    // after errors, for `dllaunch retry`
  EventReadings events = {};
  std::vector<std::optional<std::int64_t>> kernel_peaks = {};  // by rank; empty: unknown
  JobUsage slurm = {};
  std::optional<std::int64_t> peak_process_bytes = {};  // of the local mpirun and its ranks
  std::optional<double> cpu_joules = {};                // RAPL's, of this machine
};

/// `plan`: what the job occupies of each node, with spare nodes.
Books books_of(const RunReadings& readings, const RunOutline& plan);

/// Of two submissions of a run together. Hours and waste are unknown where one of both is; energy
/// is that of the seconds that are covered.
Books sum_of(const Books& earlier, const Books& later);

/// Of book_words(), the core-hours and GPU-hours.
std::vector<std::pair<std::string, std::string>> hour_words(const Json& summary);

/// What summary.json says about the cost of its run, in words, as name and value; "unknown" where
/// it is null. Empty for a summary of an older dllaunch.
std::vector<std::pair<std::string, std::string>> book_words(const Json& summary);

}  // namespace dllaunch
