// Which environment variables a run's record keeps. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dllaunch {

struct KeptVariables {
  std::map<std::string, std::string> values = {};
  std::vector<std::string> left_out = {};  // names alone: they look like secrets
};

/// Keeps those of the job file, and of the process those that change how ranks run:
/// of Slurm, MPI, NCCL, the GPUs' runtimes, OpenMP, Python and the search paths. The job file's
/// win. Of more than 300 the first by name.
KeptVariables keep_variables(const std::vector<std::pair<std::string, std::string>>& of_job,
                             const std::vector<std::pair<std::string, std::string>>& of_process);

}  // namespace dllaunch
