// When shapes would start and finish, the earliest finish first. Pure.
#pragma once

#include <optional>
#include <vector>

#include "launcher/queue/free_nodes.hpp"
#include "launcher/queue/shapes.hpp"

namespace dllaunch {

/// Moments that are no further apart count as the same.
constexpr double near_s = 60;

struct Forecast {
  Shape shape = {};
  /// What `sbatch --test-only` said. Slurm (22.05) adds up what waits before the job as if it
  /// packed without gaps and nothing were backfilled, so that all shapes start at about the same
  /// time.
  std::optional<double> slurm_s = {};
  /// Where it fits in beside what waits, as backfill may place it; nullopt: the queue is not known.
  std::optional<double> gap_s = {};
  double start_s = 0;   // Unix seconds, as all moments here
  double finish_s = 0;  // of its work
  double node_hours = 0;

  bool by_backfill() const { return gap_s && (!slurm_s || *gap_s + near_s < *slurm_s); }
};

/// `nodes`: null if the queue is not known. The gap is the start; the earlier of both where Slurm
/// puts the job before some of what waits (a higher priority, preemption). A later slice waits for
/// a gap after the one before it, and at least as long as the first: the queue of then is taken to
/// be as long as that of now. nullopt: neither start is known, or the shape never starts.
std::optional<Forecast> forecast(const Shape& shape, std::optional<double> slurm_s,
                                 const NodeForecast* nodes, double now_s);

/// Those with a gap before those that have Slurm's word alone; by finish, to the minute, then by
/// the time it takes (waits are estimated too long: jobs end before their limits), then by
/// node-hours. Slices must end a quarter earlier than a single job does, counted from now: their
/// later starts are less certain.
void rank_by_finish(std::vector<Forecast>& forecasts, double now_s);

}  // namespace dllaunch
