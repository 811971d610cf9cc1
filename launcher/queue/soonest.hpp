// Asks Slurm which shape of a job's work would finish first.
#pragma once

#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/queue/forecast.hpp"
#include "launcher/queue/past_estimates.hpp"
#include "launcher/queue/work.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Bounds of what one question costs the controller: calls of `sbatch --test-only`, one at a time,
/// and the time for all calls, those to squeue and sinfo among them.
constexpr int most_tests = 20;
constexpr double most_test_seconds = 5;

struct SoonestRequest {
  std::string job_file = {};
  std::vector<std::string> sets = {};  // KEY.PATH=VALUE
};

struct Soonest {
  std::vector<Forecast> ranked = {};  // not empty; the first would finish first
  Work work = {};
  EstimatesWorth worth = {};
  bool trains = false;
  bool knows_queue = false;  // else without gaps
  std::string why_no_queue = {};
  int silent = 0;                         // of them, without an answer in time
  int tests = 0;                          // calls of sbatch
  double test_seconds = 0;                // of all calls
  int left_out = 0;                       // shapes that the bounds left out
  int without_start = 0;                  // accepted, but neither Slurm nor the queue tells when
  std::vector<std::string> refused = {};  // "SHAPE: sbatch's message"
  double now_s = 0;                       // Unix seconds
};

/// Plans the shapes, in partitions with the precedence of the job's own, asks for those that
/// promise most and the job as written, and ranks them. Submits nothing; leaves out what would
/// preempt other jobs, unless the job as written would. bad_request: the job file; a job array.
/// unavailable: no Slurm here. Else why the job as written cannot be submitted or waits for other
/// jobs, or that no shape can start.
Result<Soonest> find_soonest(System& system, const SoonestRequest& request);

/// The first that does without a QOS which the job does not ask for: a QOS may cost more.
/// unsatisfiable: none does.
Result<Forecast> choose(const Soonest& soonest);

StartRecord record_of(const Forecast& forecast, double now_s);

/// A table, the best first, and below it what it rests on.
std::string render_soonest(const Soonest& soonest);
Json to_json(const Soonest& soonest);
/// In a line: what is taken, and why.
std::string choice_of(const Soonest& soonest, const Forecast& best);

}  // namespace dllaunch
