#include "launcher/job/job_keys.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "launcher/job/experiment_keys.hpp"
#include "launcher/job/key_rules.hpp"
#include "launcher/job/runtime_keys.hpp"
#include "launcher/job/short_values.hpp"

namespace dllaunch {
namespace {

// Patterns use only what ECMAScript (JSON Schema) and POSIX (this parser) share.
constexpr const char* cpu_list = "[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*";

std::vector<JobKey> first_keys() {
  Json name = line();
  name["maxLength"] = 200;
  name["x-expected"] = "text of one line, at most 200 characters";
  return {
      {.path = "name",
       .rules = name,
       .doc = "name of the run, used for its directory, in Slurm's queue and in messages; "
              "the file's name if it is left out",
       .example = "resnet50-cifar10",
       .from_file = true},
      {.path = "cluster",
       .rules = name,
       .initial = "auto",
       .doc = "name or file of a cluster profile; auto: the local Slurm cluster, else this machine",
       .example = "lumi-g"},
  };
}

std::vector<JobKey> resource_keys() {
  Json gpus = whole(1, 1'000'000);
  gpus["type"] = Json::array({"integer", "null"});
  Json nodes = automatic_or(whole(1, 1'000'000));
  nodes["anyOf"].push_back(
      {{"type", "string"}, {"pattern", node_range_pattern}, {"x-expected", "a range such as 2-4"}});
  return {
      {.path = "resources", .rules = block(), .doc = "resources to request"},
      {.path = "resources.nodes",
       .rules = nodes,
       .initial = 1,
       .doc = "nodes; auto: as many as gpus needs; 2-4: four, of which two suffice "
              "(recovery.min_nodes)"},
      {.path = "resources.gpus_per_node",
       .rules = automatic_or(whole(0, 1024)),
       .initial = "auto",
       .doc = "GPUs on each node; auto: all of them"},
      {.path = "resources.gpus",
       .rules = gpus,
       .initial = nullptr,
       .doc = "GPUs of the whole job: becomes nodes and gpus_per_node, by what a node of the "
              "cluster has",
       .example = 8},
      {.path = "resources.ranks_per_node",
       .rules = automatic_or(whole(1, 65536)),
       .initial = "auto",
       .doc = "ranks on each node; auto: one per GPU, or with device cpu one per NUMA node"},
      {.path = "resources.device",
       .rules = choices({"auto", "cuda", "hip", "cpu"}),
       .initial = "auto",
       .doc = "compute device"},
      {.path = "resources.cpus_per_rank",
       .rules = automatic_or(whole(1, 65536)),
       .initial = "auto",
       .doc = "cores per rank, the nearest first; auto: an equal share of the cores that "
              "binding.cores assigns"},
  };
}

/// One of them at most (check_together()).
std::vector<JobKey> memory_keys() {
  Json amount = {{"type", Json::array({"string", "null"})},
                 {"pattern", memory_pattern},
                 {"x-expected", "an amount with its unit, such as 64GB or 500MB"}};
  Json some = amount;
  some["pattern"] = some_memory_pattern;
  return {
      {.path = "resources.memory",
       .rules = block(),
       .doc = "memory of the job, by one of these keys, in units of 1024; if absent, all of a node "
              "with exclusive, else left to Slurm"},
      {.path = "resources.memory.per_node",
       .rules = amount,
       .initial = nullptr,
       .doc = "on each node",
       .example = "64GB"},
      {.path = "resources.memory.per_rank",
       .rules = some,
       .initial = nullptr,
       .doc = "for each rank: a node gets that of its ranks together",
       .example = "4GB"},
      {.path = "resources.memory.per_gpu",
       .rules = some,
       .initial = nullptr,
       .doc = "for each GPU that Slurm gives the job",
       .example = "40GB"},
  };
}

/// What Slurm may stop a job for, and where it queues.
std::vector<JobKey> limit_keys() {
  return {
      {.path = "resources.time",
       .rules = slurm_duration(),
       .initial = nullptr,
       .doc = "time limit; if absent, left to Slurm (so are the next keys)",
       .example = "00:30:00"},
      {.path = "resources.partition",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "partition of the cluster",
       .example = "standard-g"},
      {.path = "resources.account",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "account to charge",
       .example = "project_1"},
      {.path = "resources.qos",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "quality of service",
       .example = "normal"},
      {.path = "resources.reservation",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "reservation to use",
       .example = "course"},
      {.path = "resources.constraint",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "features that the nodes must have",
       .example = "gpu80g"},
      {.path = "resources.exclude",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "nodes to exclude",
       .example = "n[3-4]"},
      {.path = "resources.exclusive",
       .rules = flag(),
       .initial = true,
       .doc = "whole nodes, shared with no other job"},
  };
}

/// Where in the network Slurm places the nodes.
std::vector<JobKey> placement_keys() {
  Json count = whole(1, 1'000'000);
  count["type"] = Json::array({"integer", "null"});
  return {
      {.path = "resources.segment",
       .rules = count,
       .initial = nullptr,
       .doc = "nodes of a segment, which Slurm places in one block each: a divisor of nodes, at "
              "most a block (Slurm 24.05, topology/block)",
       .example = 16},
      {.path = "resources.switches",
       .rules = block(),
       .doc = "leaf switches to stay within (topology/tree); a number is its count"},
      {.path = "resources.switches.count",
       .rules = count,
       .initial = nullptr,
       .doc = "leaf switches at most",
       .example = 1},
      {.path = "resources.switches.wait",
       .rules = slurm_duration(),
       .initial = nullptr,
       .doc = "how long to wait for them, then any will do; if absent, as the site says",
       .example = "10:00"},
      {.path = "resources.spread",
       .rules = flag(),
       .initial = false,
       .doc = "over as many nodes as possible, wherever they are: for jobs that wait for memory "
              "or disks, not for each other"},
  };
}

std::vector<JobKey> option_keys() {
  Json sbatch_option = line();
  sbatch_option["pattern"] = "^!?-[^\x01-\x1f\x7f]+$";
  sbatch_option["x-expected"] = "an option of sbatch, such as --mail-type=END or !--requeue";
  return {
      {.path = "resources.sbatch_extra",
       .rules = lines(sbatch_option, "a list of options"),
       .initial = Json::array(),
       .doc = "additional sbatch options, one #SBATCH line each; one that dllaunch also writes "
              "replaces that line, \"!--requeue\" removes it",
       .example = Json::array({"--mail-type=END"})},
      {.path = "resources.srun_extra",
       .rules = lines(line(), "a list of arguments"),
       .initial = Json::array(),
       .doc = "additional srun arguments; they override dllaunch's, \"!--wait\" removes one",
       .example = Json::array({"--mpi=pmix"})},
  };
}

std::vector<JobKey> queue_keys() {
  Json run = line();
  run["type"] = Json::array({"string", "integer"});
  run["minimum"] = 1;
  run["x-expected"] = "a run's directory or name, or a job id";
  Json array = line();
  array["type"] = Json::array({"string", "integer", "null"});
  array["minimum"] = 0;
  array["pattern"] = "^[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*(%[0-9]+)?$";
  array["x-expected"] = "task numbers as sbatch writes them, such as 0-9%2 or 1,3,5-7";
  Json source = line();
  source["x-expected"] = "a directory or an archive";
  return {
      {.path = "after",
       .rules = lines(run, "a list of runs or job ids"),
       .initial = Json::array(),
       .doc = "runs or job ids that must have succeeded before this job starts",
       .example = Json::array({"runs/prepare-20261120-101500-3f2a"})},
      {.path = "array",
       .rules = array,
       .initial = nullptr,
       .doc = "task numbers of a job array: one job each, at most the number after % at once",
       .example = "0-9%2"},
      {.path = "share",
       .rules = choices({"private", "group"}),
       .initial = "private",
       .doc = "who else may read the run directory: private: no other user; group: its group "
              "(copies of the job file only if the job file is group-readable)"},
      {.path = "stage",
       .rules = lines(source, "a list of directories or archives"),
       .initial = Json::array(),
       .doc = "directories or archives copied to each node's own disk before the ranks start",
       .example = Json::array({"data/imagenet.tar"})},
  };
}

std::vector<JobKey> environment_keys() {
  Json value = argument();
  value["type"].push_back("null");
  value["x-expected"] = "text, a number, or null";
  Json variables = {
      {"type", Json::array({"object", "array", "null"})},
      {"items", {{"type", "string"}, {"pattern", "^[A-Za-z_][A-Za-z0-9_]*="}}},
      {"propertyNames",
       {{"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}, {"x-expected", "the name of a variable"}}},
      {"additionalProperties", value},
      {"x-expected", "a block of NAME: VALUE or a list of NAME=VALUE"}};
  return {
      {.path = "environment", .rules = block(), .doc = "environment of the ranks"},
      {.path = "environment.modules",
       .rules = lines(line(), "a list of modules"),
       .initial = Json::array(),
       .doc = "modules loaded after `module purge`",
       .example = Json::array({"LUMI/24.03", "rocm"})},
      {.path = "environment.activate",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "directory of the Python venv or conda environment to use; ~/ is your home",
       .example = "/project/venv"},
      {.path = "environment.variables",
       .rules = variables,
       .initial = Json::object(),
       .doc = "environment variables of every rank; null removes one that dllaunch would set",
       .example = {{"NCCL_DEBUG", "INFO"}}},
      {.path = "environment.container", .rules = block(), .doc = "a container for the ranks"},
      {.path = "environment.container.image",
       .rules = optional_line(),
       .initial = nullptr,
       .doc = "image file, or an address that the runtime understands; absent: no container",
       .example = "/project/images/pytorch.sif"},
      {.path = "environment.container.runtime",
       .rules = choices({"apptainer", "singularity", "enroot"}),
       .initial = "apptainer",
       .doc = "container runtime"},
      {.path = "environment.container.mounts",
       .rules = lines(line(), "a list of mounts"),
       .initial = Json::array(),
       .doc = "paths visible inside: HOST or HOST:INSIDE or HOST:INSIDE:ro",
       .example = Json::array({"/scratch/data:/data:ro"})},
      {.path = "environment.setup",
       .rules = {{"type", Json::array({"string", "null"})}, {"maxLength", 65536}},
       .initial = nullptr,
       .doc = "shell lines that run once per job, before the ranks start; the first that fails "
              "ends the job",
       .example = "ulimit -l unlimited"},
  };
}

std::vector<JobKey> binding_keys() {
  Json reserve = {{"type", Json::array({"string", "integer", "array"})},
                  {"minimum", 0},
                  {"pattern", std::string("^(auto|none|first-core-per-l3|") + cpu_list + ")$"},
                  {"items", whole(0, 65535)},
                  {"x-expected", "auto, none, first-core-per-l3 or a list of CPUs such as 0,8-9"}};
  Json mask = {{"type", Json::array({"string", "integer"})},
               {"pattern", "^0x[0-9a-fA-F]+$"},
               {"x-expected", "a hexadecimal mask such as 0xfe00"}};
  return {
      {.path = "binding", .rules = block(), .doc = "which CPUs each rank may use"},
      {.path = "binding.policy",
       .rules = choices({"closest", "spread", "none", "explicit"}),
       .initial = "closest",
       .doc = "closest: near the rank's GPU; spread: over all NUMA nodes; none: no binding; "
              "explicit: as in masks"},
      {.path = "binding.mode",
       .rules = choices({"cores", "core", "numa"}),
       .initial = "cores",
       .doc = "cores: a share of the cores; core: a single core per rank; numa: whole NUMA nodes"},
      {.path = "binding.cores",
       .rules = choices({"auto", "near", "fill"}),
       .initial = "auto",
       .doc = "near: only cores near the rank's GPU; fill: these first, then the node's remaining "
              "ones; auto: near, or fill up to resources.cpus_per_rank"},
      {.path = "binding.order",
       .rules = choices({"gpu", "numa"}),
       .initial = "gpu",
       .doc = "gpu: local rank i drives GPU i; numa: ranks are numbered along NUMA nodes"},
      {.path = "binding.network_order",
       .rules = choices({"auto", "slurm", "arrival"}),
       .initial = "auto",
       .doc = "which node has which ranks; auto: neighbours in the network follow each other, if "
              "the network is known; slurm: as Slurm numbers nodes; arrival: as they are given"},
      {.path = "binding.smt",
       .rules = flag(),
       .initial = false,
       .doc = "use all hardware threads of a core, not only its first"},
      {.path = "binding.reserve",
       .rules = reserve,
       .initial = "auto",
       .doc = "CPUs kept free for the system; auto: those that the cluster profile reserves",
       .example = "0,8,16"},
      {.path = "binding.masks",
       .rules = lines(mask, "a list of masks"),
       .initial = Json::array(),
       .doc = "one hexadecimal mask per local rank, with policy explicit",
       .example = Json::array({"0xfe", "0xfe00"})},
  };
}

std::vector<JobKey> program_keys() {
  return {
      {.path = "run",
       .rules = {{"type", Json::array({"string", "array", "null"})},
                 {"minLength", 1},
                 {"maxLength", 65536},
                 {"items", argument()},
                 {"minItems", 1},
                 {"x-expected", "a shell command or a list of words"}},
       .initial = nullptr,
       .doc = "instead of train: any command, started once per rank; text is run by bash -eo "
              "pipefail, a list is the command's argv; torchrun, accelerate launch or deepspeed in "
              "front is "
              "removed, because dllaunch starts the ranks",
       .example = "python train.py"},
      {.path = "framework",
       .rules = choices({"none", "pytorch", "tensorflow", "horovod", "jax", "deepspeed", "mpi"}),
       .initial = "none",
       .doc =
           "with run: the framework whose variables the ranks get besides RANK, WORLD_SIZE etc."},
  };
}

std::vector<JobKey> component_keys() {
  return {{.path = "components",
           .rules = {{"type", Json::array({"array", "null"})},
                     {"minItems", 2},
                     {"maxItems", 128},
                     {"x-expected", "a list of blocks"}},
           .initial = nullptr,
           .doc = "parts of a modular job, which Slurm starts together, each on nodes of its own "
                  "(docs/how-to/components.md). Each has a `name`; `ends: job` if the job is over "
                  "when it has completed; and any of resources, stage, environment, binding, "
                  "train, run, framework, runtime and recovery, over those at the top",
           .example = Json::array({Json{{"name", "loader"}, {"run", "python3 load.py"}},
                                   Json{{"name", "trainer"}, {"run", "python3 train.py"}}})}};
}

Json avoided_nodes() {
  Json node = line();
  node["pattern"] = "^[A-Za-z0-9]([A-Za-z0-9._,-]|\\[|\\])*$";
  node["x-expected"] = "a node or a host list such as n[3-4]";
  return {{"type", Json::array({"string", "array"})},
          {"pattern", "^(auto|off)$"},
          {"items", node},
          {"x-expected", "auto, off or a list of nodes"}};
}

std::vector<JobKey> recovery_keys() {
  return {
      {.path = "recovery",
       .rules = block(),
       .doc = "what happens when the ranks end before their work is done "
              "(docs/explanation/supervise.md)"},
      {.path = "recovery.signal",
       .rules = choices({"USR1", "USR2", "TERM", "INT", "HUP"}),
       .initial = "USR2",
       .doc = "signal that asks the ranks to write a checkpoint and stop; with run: sent only if "
              "the job file has this block, and to the processes that handle it"},
      {.path = "recovery.grace_seconds",
       .rules = whole(0, 65535),
       .initial = 120,
       .doc = "seconds before the time limit at which it is sent"},
      {.path = "recovery.max_restarts",
       .rules = whole(0, 1000),
       .initial = 3,
       .doc = "maximum restarts of the ranks in one allocation; with run: only if the job file has "
              "this block"},
      {.path = "recovery.requeue_on",
       .rules = lines(choices({"timeout", "preempted", "node_fail"}),
                      "a list of timeout, preempted and node_fail"),
       .initial = Json::array({"timeout", "preempted", "node_fail"}),
       .doc = "endings after which the job is requeued; []: none (--no-requeue)"},
      {.path = "recovery.preflight",
       .rules = choices({"restarts", "always", "never"}),
       .initial = "restarts",
       .doc = "starts before which the job's nodes are checked, in one or two seconds "
              "(docs/how-to/preflight.md); an unfit node is left out, or the job is requeued "
              "without it"},
      {.path = "recovery.spare_nodes",
       .rules = whole(0, 100),
       .initial = 0,
       .doc = "additional nodes beyond resources.nodes: when a node fails, the ranks restart there "
              "in the same allocation; idle ones are charged like the others"},
      {.path = "recovery.min_nodes",
       .rules = whole(0, 1'000'000),
       .initial = 0,
       .doc = "fewest nodes to start on and to go on with when nodes fail, with the same global "
              "batch; resources.nodes: 2-4 sets both; 0: as many as resources.nodes"},
      {.path = "recovery.hold_on_error",
       .rules = slurm_duration(),
       .initial = nullptr,
       .doc = "how long the allocation is kept after an error of the program itself, for "
              "`dllaunch retry` (docs/how-to/fix-and-go-on.md); it is charged meanwhile; null: not "
              "at all",
       .example = "30m"},
      {.path = "recovery.avoid",
       .rules = avoided_nodes(),
       .initial = "off",
       .doc = "nodes that the job does not ask for, or leaves to its spares: auto takes those that "
              "earlier runs speak against, at most a tenth of the partition's "
              "(docs/how-to/nodes.md)",
       .example = "auto"},
      {.path = "recovery.autopsy",
       .rules = flag(),
       .initial = true,
       .doc = "keep the stacks of all ranks in RUN/autopsy before ranks that hang are ended "
              "(docs/how-to/stacks.md); prepares the Python of ranks for that"},
  };
}

std::vector<JobKey> all_keys() {
  std::vector<JobKey> keys;
  for (const auto part :
       {first_keys, resource_keys, memory_keys, limit_keys, placement_keys, option_keys, queue_keys,
        environment_keys, binding_keys, program_keys, runtime_keys, integrity_keys, recovery_keys,
        experiment_keys, component_keys}) {
    auto rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace

const std::vector<JobKey>& job_keys() {
  static const std::vector<JobKey> keys = all_keys();
  return keys;
}

}  // namespace dllaunch
