// An sbatch script as a job file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct SbatchOrigin {
  std::string file = {};       // for comments
  int threads_per_core = 1;    // of the cluster's nodes; Slurm counts threads
  std::string framework = {};  // as the user says; empty: what the script tells
  /// Whether the folder of the job has this program. Unset: unknown.
  std::function<bool(const std::string&)> is_program = {};
};

struct ConvertedScript {
  std::string job = {};  // the text of the job file; empty: see `reasons`
  std::string framework = "none";
  std::string program = {};               // the Python program of each rank; empty: none is seen
  bool counts_cpus = false;               // cpus_per_rank holds what Slurm counts for the script
  std::vector<std::string> account = {};  // what Slurm gives the script, three lines
  std::vector<std::string> dropped = {};  // what it does not hold, "line 3: ..."
  std::vector<std::string> reasons = {};  // why the script cannot be converted
};

/// Pure. The job file validates, and its plan asks Slurm for the script's resources.
ConvertedScript convert_sbatch(std::string_view script, const SbatchOrigin& origin);

}  // namespace dllaunch
