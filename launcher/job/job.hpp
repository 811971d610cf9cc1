// A job file as a typed value: parsed, checked and completed with defaults.
// Does not know the cluster it will run on.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/node_numbering.hpp"
#include "launcher/job/recovery.hpp"
#include "support/json.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

/// What resources.memory counts for.
enum class MemoryPer { node, rank, gpu };

struct JobMemory {
  MemoryPer per = MemoryPer::node;
  std::string amount = {};  // "64G", in units of 1024
};

/// nullopt means "auto", or for Slurm options that Slurm decides.
struct Resources {
  int nodes = 1;
  std::optional<int> gpus_per_node = {};
  std::optional<int> gpus = {};  // of the whole job, until divide_gpus() knows a node's
  std::optional<int> ranks_per_node = {};
  std::string device = "auto";            // auto | cuda | hip | cpu
  std::optional<int> cpus_per_rank = {};  // cores
  std::optional<std::string> time = {};
  std::optional<JobMemory> memory = {};
  std::optional<std::string> partition = {};
  std::optional<std::string> account = {};
  std::optional<std::string> qos = {};
  std::optional<std::string> reservation = {};
  std::optional<std::string> constraint = {};
  std::optional<std::string> exclude = {};
  std::optional<int> segment = {};   // nodes, each in one block
  std::optional<int> switches = {};  // leaf switches at most
  std::optional<std::string> switches_wait = {};
  bool spread = false;  // over as many nodes and switches as possible
  bool exclusive = true;
  std::vector<std::string> sbatch_extra = {};
  std::vector<std::string> srun_extra = {};
};

struct Container {
  std::string image = {};                // a file, or an address that the runtime understands
  std::string runtime = "apptainer";     // apptainer | singularity | enroot
  std::vector<std::string> mounts = {};  // HOST, HOST:INSIDE or HOST:INSIDE:ro
};

struct JobEnvironment {
  std::vector<std::string> modules;
  std::optional<std::string> activate;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> left_alone = {};  // variables that dllaunch must not set
  std::optional<Container> container = {};
  std::optional<std::string> setup;
};

struct JobBinding {
  BindPolicy policy = BindPolicy::closest;
  BindMode mode = BindMode::cores;
  BindCores cores = BindCores::automatic;
  RankOrder order = RankOrder::gpu;
  NodeNumbering network_order = NodeNumbering::automatic;
  bool smt = false;
  std::string reserve = "auto";
  std::vector<IdSet> masks;
};

struct Recovery {
  std::string signal = "USR2";  // requests a checkpoint before the time limit
  int grace_seconds = 120;
  int max_restarts = 3;
  RequeueOn requeue_on = {};
  PreflightWhen preflight = PreflightWhen::restarts;
  int spare_nodes = 0;  // requested from Slurm in addition to resources.nodes
  int min_nodes = 0;    // enough to go on with; 0: all of resources.nodes
  bool autopsy = true;
  std::vector<std::string> avoid = {};            // nodes; "auto" alone: by judgement; empty: none
  std::optional<std::string> hold_on_error = {};  // a time in Slurm's form
  bool written = false;  // set by the user: with `run:`, the command handles the signal
};

/// How `dllaunch study` measures a `run:`.
struct JobStudy {
  std::optional<std::string> value = {};  // a regular expression with one group, or "$.path"
  std::optional<std::string> step = {};   // of lines that name a step
  std::string unit = {};                  // "samples/s"
  bool lower_is_better = false;           // a time, not a rate
};

/// What `dllaunch sweep` tries; launcher/sweep/space.hpp reads the parameters.
struct JobSweep {
  Json parameters = {};  // null: none
  std::optional<int> trials = {};
  std::string sampler = "random";  // random | grid | the name of one of Optuna's
  bool optuna = false;             // it is Optuna's
  int seed = 1;
  bool asha = false;
  int min_epochs = 1;
  std::optional<int> max_epochs = {};
  int reduction = 2;
  std::string metric = "val_accuracy";
  std::optional<std::string> value = {};  // of `run:`: a regular expression with one group
  bool minimize = false;
  std::optional<int> concurrent = {};
  std::optional<double> gpu_hours = {};
  std::optional<std::string> until = {};
  std::optional<int> nodes = {};         // of one Slurm job that all trials share
  std::optional<std::string> time = {};  // of that job
};

/// The position in `argv` of a text that bash runs, as a text in `run:` does; argv.size(): it is
/// something else.
std::size_t shell_text_at(const std::vector<std::string>& argv);

struct JobComponent;

struct Job {
  std::string name;
  std::string cluster = "auto";  // name or file of a cluster profile
  Resources resources;
  std::vector<std::string> after = {};    // runs and job ids, as the user wrote them
  std::optional<std::string> array = {};  // "0-9%2"
  bool share = false;                     // readable by the run directory's group
  std::vector<std::string> stage = {};    // directories and archives, as the user wrote them
  JobEnvironment environment;
  JobBinding binding;
  Json train;                            // the resolved `train:` block; null with `run:`
  std::vector<std::string> run_command;  // argv; of a string in the file, bash's: shell_text_at()
  std::string framework = "none";        // none | pytorch | tensorflow | horovod | jax | ...
  Json runtime;                          // the resolved `runtime:` block
  bool stall_abort_written = false;      // set by the user: with `run:`, silence means a stall
  Recovery recovery;
  JobStudy study = {};
  JobSweep sweep = {};
  bool keeps_diff = false;  // reproducibility.diff
  Json resolved;            // the whole file, with every default
  /// Of a modular job, in the file's order; it has no train and no run_command of its own. Empty:
  /// an ordinary job.
  std::vector<JobComponent> components;
};

/// A part of a modular job: a job of its own, named JOB-COMPONENT, with the top-level keys as its
/// defaults.
struct JobComponent {
  std::string name;       // letters, digits, - and _
  bool ends_job = false;  // the whole job is over when it has completed
  Job job;
};

}  // namespace dllaunch
