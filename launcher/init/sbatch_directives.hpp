// The directives of an sbatch script as keys of a job file.
#pragma once

#include <string>
#include <vector>

#include "launcher/init/job_draft.hpp"
#include "launcher/lint/script.hpp"

namespace dllaunch {

/// What a script asks Slurm for, in the job file's terms.
struct JobCounts {
  long nodes = 1;
  long tasks_per_node = 1;
  long cpus_per_task = -1;  // as Slurm counts CPUs; -1: left to Slurm
  long gpus_per_node = 0;   // -1: no number for each node
  bool exclusive = false;
};

struct ConvertedDirectives {
  std::string name = {};
  std::vector<DraftKey> resources = {};  // besides the counts
  std::vector<std::string> sbatch_extra = {};
  std::string array = {};
  std::vector<std::string> dropped = {};  // "line 3: --output: ..."
  std::vector<std::string> reasons = {};  // why the script cannot be converted
};

/// Pure. Every directive becomes a key, an extra option of sbatch, or a line of `dropped`.
ConvertedDirectives convert_directives(const lint::Script& script);

/// The counts of a job whose ranks the step starts.
JobCounts counts_of(const SlurmRequest& job, const SlurmRequest& step);

/// Whether the script's options make Slurm count cores, not hardware threads.
bool counts_cores(const lint::Script& script);

}  // namespace dllaunch
