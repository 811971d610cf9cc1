// Selects the ranks of one job among many processes. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "topology/diagnosis/rank_observation.hpp"

namespace dllaunch {

struct JobProcess {
  int pid = 0;
  int parent = 0;
  std::string name = {};       // "python3"
  std::string job = {};        // from job_of(); empty: not part of a job
  std::string slurm_job = {};  // SLURM_JOB_ID
  RankEnv rank = {};
};

/// Fills `job`, `slurm_job` and `rank` from a process's environment. Of nested launchers the
/// innermost counts: torchrun in srun, mpirun in a batch job.
void read_job(const Environment& environment, JobProcess& process);

struct RankProcess {
  int pid = 0;
  RankEnv rank = {};
  int workers = 0;  // other processes of the rank: data loaders and the like
};

/// One process per rank of `job`, by rank: the first one started, or what it wraps if it is a
/// wrapper (a shell, numactl, dllaunch exec). `wanted` always represents its rank. Launchers'
/// daemons are not ranks.
std::vector<RankProcess> ranks_of_job(const std::vector<JobProcess>& processes,
                                      const std::string& job, int wanted = 0);

/// The jobs that have ranks among `processes`, sorted.
std::vector<std::string> jobs_among(const std::vector<JobProcess>& processes);

}  // namespace dllaunch
