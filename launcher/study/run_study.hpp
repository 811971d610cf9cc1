// Carries out a study: one run after another, each by a dllaunch of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/study/study.hpp"
#include "launcher/study/study_sizes.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct StudyRequest {
  std::string job_file = {};
  std::vector<std::string> sets = {};  // KEY.PATH=VALUE
  SizesWanted wanted = {};
  int repeats = 1;
  double efficiency = 0.8;
  bool local = false;
  bool separate = false;       // with Slurm, each run is a job of its own
  bool allocated = false;      // in the allocation around this process
  std::string allreduce = {};  // a file with the output of `bench allreduce --json`; "": none
  std::string dir = {};        // of the study; absolute
};

struct PreparedStudy {
  Job job;
  Study study;                            // its runs in the order in which they are made
  std::vector<StudySize> sizes = {};      // by ranks, falling
  std::optional<int> cores_of_node = {};  // that the job keeps others from using, as written
  /// The largest size with the time of all runs that have no value: the job whose allocation they
  /// share. nullopt: they share none.
  std::optional<LaunchPlan> shared = {};
};

/// Plans every size, so that what cannot run is known before anything does. Takes the values of
/// runs that an earlier execution in `dir` has completed. bad_request, unsatisfiable: names the
/// size; `run:` without study.value; what `allreduce` holds, or its use with `run:`; a directory
/// with another study, or of a run.
Result<PreparedStudy> prepare_study(System& system, const StudyRequest& request);

/// Runs what has no value yet, one after another, and keeps study.json up to date. A run that fails
/// leaves its reason, and the study goes on; when it is asked for again, it begins anew. Stops at
/// SIGINT and SIGTERM once the current run has stopped, at SIGHUP without ending its Slurm job: the
/// same request continues. Returns the number of the signal; 0: none. bad_request: another study
/// works there.
Result<int> run_study(System& system, const StudyRequest& request, PreparedStudy& prepared);

/// The same in one Slurm job, `prepared.shared`: each size starts on the first nodes of the same
/// allocation. Waits for the job's end and takes its values into `prepared`. The job goes on when
/// this process is killed or its terminal closes; the same request follows it.
Result<int> run_study_in_one_job(System& system, const StudyRequest& request,
                                 PreparedStudy& prepared);

/// Writes study.json, study.csv, study.html and the plots, each atomically.
Result<Ok> write_study(const std::string& dir, const Study& study, const StudyResult& result);

}  // namespace dllaunch
