// The resource account: what options ask Slurm for, and what follows from them.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

/// A long option by its full name; a value may hold unknown pieces.
struct OptionGiven {
  std::string_view name = {};
  std::string_view value = {};
  bool has_value = false;
};

/// The numbers as written. -1: not given, or unknown.
struct SlurmRequest {
  long nodes = -1;
  long ntasks = -1;
  long ntasks_per_node = -1;
  long ntasks_per_socket = -1;
  long ntasks_per_gpu = -1;
  long cpus_per_task = -1;
  long cpus_per_gpu = -1;
  long gpus = -1;
  long gpus_per_node = -1;
  long gpus_per_socket = -1;
  long gpus_per_task = -1;
  long sockets_per_node = -1;  // that a node has at least
  long cores_per_socket = -1;
  long threads_per_core = -1;
  long memory_per_node = -1;  // megabytes
  long memory_per_cpu = -1;
  long memory_per_gpu = -1;
  bool wants_gpus = false;
  bool exclusive = false;  // whole nodes: --exclusive without =user, =mcs or =topo
  long least_nodes = -1;   // of --nodes=2-4, and of --nodes=2
  long most_nodes = -1;
  bool node_range = false;                            // they differ
  std::set<std::string, std::less<>> gpu_types = {};  // of a100:4
  bool untyped_gpus = false;

  /// What Slurm gives, from any combination of options; -1: unknown.
  long tasks_per_node() const;
  long tasks() const;
  long node_gpus() const;
  long task_cpus() const;
  /// The tasks that sbatch itself counts before it knows a node; -1: none.
  long submitted_tasks() const;

 private:
  long given_node_gpus() const;
  long implied_tasks() const;
};

/// What a job's options ask for; the last of its name counts.
SlurmRequest job_request(std::span<const OptionGiven> options);

/// What a step of the job asks for, as srun does: its own options, else the job's. `complete`:
/// `options` are all of the step's.
SlurmRequest step_request(const SlurmRequest& job, std::span<const OptionGiven> options,
                          bool complete = true);

/// Why sbatch refuses numbers that contradict each other, of which each by itself is good: "2 GPUs
/// a node are ..."; empty: it does not.
std::string contradiction_in(const SlurmRequest& request);

/// The megabytes in "64G" or "4096", rounded up as by Slurm; -1: it is not a size.
long megabytes(std::string_view value);

/// The count in --gpus-per-node: "8", "a100:8", "a100:4,v100:4"; -1: unknown.
long gpu_count(std::string_view value);

/// Whether a list of resources names GPUs: "gpu:a100:8", "cpu:4,gres/gpu:1".
bool asks_for_gpus(std::string_view resources);

}  // namespace dllaunch
