// The whole decision as a value: print it, diff it, store it, execute it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/job/recovery.hpp"
#include "launcher/plan/node_topology.hpp"
#include "launcher/plan/stage.hpp"
#include "launcher/plan/start_command.hpp"
#include "support/json.hpp"
#include "topology/placement/placement.hpp"

namespace dllaunch {

enum class Launcher { local, slurm };

/// Where things lie on the file system that all nodes see; absolute paths.
struct Paths {
  std::string dllaunch = {};  // this program
  std::string dltrain = {};
  std::string run_dir = {};
  std::string work_dir = {};                   // where the user called: `run:` commands start there
  std::vector<std::string> trainer_gpus = {};  // kinds of GPU that dltrain drives: cuda, hip
};

struct LaunchPlan {
  std::string name;
  Launcher launcher = Launcher::local;
  int nodes = 1;
  int ranks_per_node = 1;
  int ranks() const { return nodes * ranks_per_node; }
  Topology topology;         // of one node, as far as it is known
  bool exact = false;        // `placement` is the answer on every node the job may get
  TopologyOrigin origin;     // where `topology` comes from
  PlacementRequest request;  // what `placement` answers; the shim asks it again where it must
  Placement placement;       // on one node; the shim checks the real node and corrects
  StartCommand start;        // its program: dltrain --config ..., or the user's
  std::vector<std::pair<std::string, std::string>> sbatch;  // "--nodes" -> "2"; value may be empty
  std::vector<std::string> sbatch_extra;                    // the user's that are not in `sbatch`
  std::vector<std::pair<std::string, std::string>> environment;  // set before the ranks start
  std::vector<std::string> left_alone = {};                      // variables that we are not to set
  std::string mpi = {};  // srun's plug-in for commands, where the cluster profile names one
  std::vector<std::string> modules;
  std::string activate;  // empty: none
  std::string setup;     // shell lines, empty: none
  std::string signal;    // "USR2"
  /// Handed on to the ranks. A command of which nobody said that it knows the signal would die.
  bool asks_ranks = true;
  int grace_seconds = 120;
  RecoveryPlan recovery = {};
  Paths paths;
  std::string cluster = "auto";             // as the job file names it
  std::string framework = "none";           // whose variables the shim sets besides RANK and co.
  std::optional<Container> container = {};  // around each rank's command, inside the shim
  bool pyxis = false;                       // srun starts the shim inside the container
  StagePlan stage = {};                     // copied to each node before the ranks start
  bool share = false;                       // the run directory's group may read it
  std::vector<std::string> after = {};      // job ids; runs that nobody has looked up are warned of
  std::optional<std::string> array = {};    // "0-9%2"
  std::string profile = {};                 // the cluster profile's file; empty: none
  std::string scheduler = "Slurm";       // another one where the profile says so: not ours to run
  std::vector<std::string> before = {};  // its job script's lines before `start`
  std::vector<std::string> suggested_modules = {};  // the site's, for the user to decide
  std::string host_suffix = {};                     // put behind host names where ranks meet
  /// Variables that name a folder on the node's own disk; the shim makes it and fills in {user},
  /// {job} and {node}.
  std::vector<std::pair<std::string, std::string>> node_folders = {};
  std::string train_json;  // the text of RUN/train.json; empty with `run:`
  std::vector<std::string> warnings;
};

/// Where a rank's files go: the run's directory; of an array's task, task-N in it, written as
/// RUN/task-%a. The script puts the number there.
std::string task_dir(const LaunchPlan& plan);

/// Pure. Slurm when the facts have it, unless `local`.
/// unsatisfiable: no such partition, fewer nodes or GPUs than asked for, a time above the limit;
/// unavailable: no MPI plug-in or device the job could use.
Result<LaunchPlan> plan(const Job& job, const Facts& facts, const Paths& paths, bool local);

/// contract.md `plan --json`; locally `srun` is empty and "mpirun" holds the argv.
Json to_json(const LaunchPlan& plan);
/// The plan of a plan.json that any version wrote, without its `placement` and `binding`. What is
/// missing, or is not as dllaunch writes it, has its default; the built-in trainer's `framework` is
/// empty. The topology, the text of train.json and what only a script needs are not in there.
LaunchPlan plan_from_json(const Json& document);
/// The same with request and placement, and in the topology the GPUs that ranks were given.
/// bad_request: no binding, or one that makes no sense.
Result<LaunchPlan> bound_plan_from_json(const Json& document);

/// Ranks -> node, GPU, CPUs, NUMA node, NIC, and the srun or mpirun line, for people.
std::string render_plan(const LaunchPlan& plan);

/// "2 nodes + 1 spare".
std::string node_words(const LaunchPlan& plan);

/// The sbatch script, from templates/job.sbatch.mustache. Every user text in it is quoted for bash.
/// `run_id`: RUN/.run-id; with another one in its place the script does nothing. Empty: not looked
/// at.
std::string render_sbatch(const LaunchPlan& plan, const std::string& run_id = "");

}  // namespace dllaunch
