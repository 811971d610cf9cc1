// The launch plan: every decision about a job on a cluster as a value to print, compare and store.
// Pure: does not run, submit or ask anything.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/plan/node_topology.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/plan/run_outline.hpp"
#include "launcher/plan/stage.hpp"
#include "launcher/plan/start_command.hpp"
#include "support/json.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

struct LaunchPlan : RunOutline {
  Topology topology;                      // of one node, as far as known
  bool exact = false;                     // `placement` holds on every node the job may get
  TopologyOrigin origin;                  // where `topology` comes from
  PlacementRequest request;               // produced `placement`; the shim repeats it where needed
  Placement placement;                    // on one node; the shim checks the real node and corrects
  StartCommand start;                     // its program: dltrain --config ..., or the user's
  std::vector<std::string> sbatch_extra;  // the user's options that are not in `sbatch`
  std::vector<std::pair<std::string, std::string>> environment;  // set before the ranks start
  std::vector<std::string> left_alone = {};  // variables that dllaunch must not set
  std::string mpi = {};            // srun's plugin for commands, if the cluster profile names one
  std::string transport = {};      // tcp | mpi, of the trainer; empty: one rank, or not known
  std::string why_transport = {};  // "since mpirun starts the ranks"
  std::vector<std::string> modules;
  std::string activate;                     // empty: none
  std::string setup;                        // shell lines, empty: none
  std::string cluster = "auto";             // as in the job file
  std::string framework = "none";           // the shim sets its variables besides RANK etc.
  std::optional<Container> container = {};  // around each rank's command, inside the shim
  bool pyxis = false;                       // srun starts the shim inside the container
  StagePlan stage = {};                     // copied to each node before the ranks start
  bool share = false;                       // the run directory's group may read it
  std::vector<std::string> after = {};      // job ids; unresolved runs cause a warning
  std::string profile = {};                 // the cluster profile's file; empty: none
  std::string scheduler = "Slurm";          // as in the profile; dllaunch submits only to Slurm
  std::vector<std::string> before = {};     // lines before `start` in the job script there
  std::vector<std::string> suggested_modules = {};  // recommended by the site; the user decides
  std::string ring = {};         // how nodes are numbered along the network; empty: as Slurm does
  std::string host_suffix = {};  // appended to host names for the rendezvous
  /// Variables that name a folder on the node's local disk; the shim creates it and fills in
  /// {user}, {job} and {node}.
  std::vector<std::pair<std::string, std::string>> node_folders = {};
  std::string train_json;  // the text of RUN/train.json; empty with `run:`
  std::vector<std::string> warnings;
};

/// The directory of a rank's files: the run directory, or for an array task RUN/task-N, written as
/// RUN/task-%a. The script inserts the number.
std::string task_dir(const LaunchPlan& plan);

/// Plans the job. Pure. Uses Slurm if the facts have it, unless `local`. unsatisfiable: no such
/// partition, too few nodes or GPUs, or a time above the limit. unavailable: no usable MPI plugin
/// or device.
Result<LaunchPlan> plan(const Job& job, const Facts& facts, const Paths& paths, bool local);

/// Returns the document of `plan --json`. Locally `srun` is empty, and "mpirun" holds the argv, or
/// "start" that of `dllaunch spawn`.
Json to_json(const LaunchPlan& plan);
/// The plan from a plan.json of any version, without `placement` and `binding`. Missing or invalid
/// values get their defaults; the built-in trainer's `framework` is empty. plan.json lacks the
/// topology, the text of train.json and what only a script needs.
LaunchPlan plan_from_json(const Json& document);
/// The same with request and placement; the topology has the GPUs assigned to ranks. bad_request:
/// the binding is missing or inconsistent.
Result<LaunchPlan> bound_plan_from_json(const Json& document);

/// The plan as text: ranks -> node, GPU, CPUs, NUMA node, NIC, and the srun or mpirun line.
std::string render_plan(const LaunchPlan& plan);

/// What follows #SBATCH in the script's lines, quoted for sbatch.
std::vector<std::string> sbatch_arguments(const LaunchPlan& plan);

/// The sbatch script, from templates/job.sbatch.mustache. All user text is quoted for bash.
/// `run_id`: the script does nothing if RUN/.run-id differs. Empty: no check.
std::string render_sbatch(const LaunchPlan& plan, const std::string& run_id = "");

}  // namespace dllaunch
