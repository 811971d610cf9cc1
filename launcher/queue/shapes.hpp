// The shapes that a job's work can take in the queue. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/queue/work.hpp"

namespace dllaunch {

struct Shape {
  std::vector<std::string> sets = {};  // KEY.PATH=VALUE, as --set takes them; empty: as written
  int nodes = 1;                       // of ranks
  int spare_nodes = 0;
  int ranks_per_node = 1;
  std::optional<int> batch_per_rank = {};  // with `train:`
  std::string partition = {};              // empty: Slurm's default
  std::string qos = {};                    // empty: the account's default
  bool other_qos = false;                  // than the job asks for
  int limit_minutes = 0;                   // of each slice
  /// Slurm may start it with any limit from here on (--time-min).
  std::optional<int> least_minutes = {};
  int slices = 1;
  double run_s = 0;     // of all the work, without what a further slice costs
  double useful_s = 0;  // of it in a full slice

  bool as_written() const { return sets.empty(); }
  int ranks() const { return nodes * ranks_per_node; }
};

/// What a further slice costs besides the queue: saving before the limit (recovery.grace_seconds),
/// the start of the ranks, and that Slurm holds a requeued job back for two minutes (the life of a
/// credential, cred_expire in AuthInfo, 120 s by default).
constexpr double slice_start_s = 60;
constexpr double requeue_hold_s = 121;

/// The job as written comes first. Beside it:
///
/// nodes: powers of two around the job's, with `train:` where the global batch divides, the
/// learning rate does not follow the ranks, and a rank gets at most twice its images (how much more
/// fits its memory is not known) or a size was measured; with `run:` only if `study:` says how its
/// speed is measured, which means that it runs on several sizes. The time limit changes as the time
/// does; of a run that does not resume after it, it only grows.
/// partitions and QOS: those of the same hardware that admit the job. The time limit is always
/// written there, since each partition has its own default.
/// slices: 2, 3, 4, 6 or 8 jobs of the time limit that is needed, one after another, where the run
/// saves before its time limit and is requeued; of each at least two thirds are of use.
/// --time-min: where past runs tell that the work ends long before its limit, and the run resumes
/// if it does not.
///
/// unsatisfiable: neither the job nor its partition has a time limit, and no run of it is known.
Result<std::vector<Shape>> shapes_of(const Job& job, const LaunchPlan& plan,
                                     const SlurmFacts& slurm, const Work& work, double now_s);

/// The minutes that the job or its partition ends it after; nullopt: no limit.
std::optional<int> minutes_of(const Job& job, const SlurmFacts& slurm);

/// "2 nodes of 4 ranks, batch 64, partition gpu, 30 min": for a line.
std::string words_of(const Shape& shape);

}  // namespace dllaunch
