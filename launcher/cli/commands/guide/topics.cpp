#include "launcher/cli/commands/guide/topics.hpp"

#include <fmt/core.h>

#include <vector>

#include "launcher/base/exit_code.hpp"
#include "launcher/cli/command_help.hpp"
#include "launcher/job/job_schema.hpp"

namespace dllaunch {
namespace {

constexpr EnvironmentVariable read_table[] = {
    {"NO_COLOR", "no colour, but --color always overrides it"},
    {"DLLAUNCH_PAGER, PAGER",
     "shows help and tables that are longer than the terminal [less]; "
     "empty: none"},
    {"XDG_STATE_HOME",
     "its dllaunch/ holds the list of your runs, and the daemon's store "
     "[~/.local/state]"},
    {"XDG_CONFIG_HOME", "its dllaunch/clusters/ holds your cluster profiles [~/.config]"},
    {"XDG_CACHE_HOME", "its dllaunch/ holds what `dllaunch probe` recorded [~/.cache]"},
    {"DLLAUNCH_RENDEZVOUS_SECONDS", "how long ranks wait for each other; 0: not at all [300]"},
    {"DLLAUNCH_START_TOKEN",
     "a word that ranks of one start share, where home directories differ "
     "between nodes"},
    {"DLLAUNCH_GPU_GRAPHS", "off: dltrain launches each GPU kernel by itself"},
    {"DLLAUNCH_NCCL_BLOCKING", "1: calls of NCCL block"},
};

constexpr EnvironmentVariable set_table[] = {
    {"DLLAUNCH_RUN_DIR", "the run's directory"},
    {"DLLAUNCH_GPUS", "PCI addresses of the rank's GPUs"},
    {"DLLAUNCH_STAGE", "the folder of copies on the node's own disk, with stage:"},
    {"DLLAUNCH_GENERATION", "the number of this start of the run; a later one is higher"},
    {"DLLAUNCH_HEARTBEAT", "a file that a command of run: may touch to show that it is alive"},
    {"RANK, WORLD_SIZE, LOCAL_RANK", "the rank, for frameworks; also LOCAL_WORLD_SIZE, NODE_RANK"},
    {"MASTER_ADDR, MASTER_PORT", "where ranks meet; dllaunch chooses a free port"},
    {"OMP_NUM_THREADS", "the rank's cores, unless the job file sets it"},
};

constexpr std::string_view binding_text =
    R"(A rank runs fast on CPUs that are near its GPU and that no other rank uses.
dllaunch chooses them for every rank; the shim `dllaunch exec` applies them.

  dllaunch plan JOB.yaml     each rank's node, GPU, CPUs, NUMA node and NIC
  dllaunch topo              the node as a tree
  dllaunch bind              the CPUs of each rank on this node, and why
  dllaunch doctor            whether ranks are bound well, and what to change

Keys of the job file, under binding:
  policy: closest  near the rank's GPU (spread: far from others; none; explicit)
  mode: cores      a fair share of cores (core: one; numa: whole NUMA nodes)
  cores: auto      cores near the GPU only (fill: the others too)
  order: gpu       local rank i drives GPU i (numa: ranks follow NUMA nodes)
  smt: false       true: all hardware threads of a core
  reserve: auto    CPUs left to the system, as the cluster's profile says

A mask is a set of CPUs in hexadecimal: 0xf0 is CPUs 4 to 7. srun takes one per
rank (--cpu-bind=mask_cpu:...); `dllaunch bind --format` serves other launchers.
)";

constexpr std::string_view recovery_text =
    R"(A batch script of dllaunch ends in `dllaunch supervise`, which owns the ranks.
When they end, it restarts them in the same allocation, requeues the job, or
stops.

  a rank died                restart, at most max_restarts times
  the same error twice       stop: it would fail the same way again
  exit code 2 or 93          stop
  no progress                after runtime.stall_abort_seconds: kill, restart
  the time limit is near     ask the ranks to save, requeue
  preempted, a node failed   requeue

Keys of the job file, under recovery: max_restarts, requeue_on, signal,
grace_seconds, preflight, spare_nodes. To turn it off:
  recovery: {max_restarts: 0, requeue_on: []}

Training continues from the newest checkpoint whose checksums hold. A program of
run: resumes by itself: its run directory is in $DLLAUNCH_RUN_DIR.

  dllaunch status RUN                  restarts, their reasons, and steps lost
  dllaunch cancel RUN                  save a checkpoint, then stop
  dllaunch run JOB.yaml --run-dir DIR  continue a run that ended
  dllaunch daemon start                resubmit runs while you are logged out
)";

std::string render_variables(std::span<const EnvironmentVariable> variables) {
  std::vector<HelpRow> rows;
  for (const auto& [name, meaning] : variables)
    rows.push_back({std::string(name), std::string(meaning)});
  return render_rows(rows);
}

std::string binding() {
  return std::string(binding_text);
}

std::string recovery() {
  return std::string(recovery_text);
}

std::string environment() {
  return "Read by dllaunch and dltrain:\n" + render_variables(variables_read()) +
         "\nSet for every rank:\n" + render_variables(variables_set()) +
         "\n`framework:` in the job file adds the variables of that framework. Variables of\n"
         "your own: environment: {variables: {NAME: value}}.\n";
}

std::string exit_code_page() {
  std::vector<HelpRow> rows;
  for (const Explanation& code : exit_codes())
    rows.push_back({std::string(code.id),
                    fmt::format("{} {}", std::string(code.meaning), std::string(code.cause))});
  return "Exit codes of dllaunch:\n" + render_rows(rows) +
         "\nA rank's own 2, 3 or 93 passes through `dllaunch run`; any other becomes 1.\n"
         "`dllaunch explain CODE` says what to do.\n";
}

std::string job_file() {
  std::vector<HelpRow> keys;
  for (const auto& [name, schema] : job_schema()["properties"].items()) {
    const std::string_view end = schema.contains("properties") ? ": ..." : ":";
    keys.push_back({fmt::format("{}{}", name, end), schema.value("description", "")});
  }
  return "A job file is YAML. Two keys are enough: name, and one of train: and run:.\n\n"
         "  name: first\n"
         "  train: {model: cnn, dataset: {kind: fashion-mnist}}\n\n"
         "Keys; those with ... hold keys of their own:\n" +
         render_rows(keys) +
         "\nAll keys: dllaunch schema --markdown. Check a file: dllaunch validate JOB.yaml.\n"
         "Change one key for one run: --set train.epochs=5.\n";
}

constexpr Topic topic_table[] = {
    {"binding", "which CPUs and GPU a rank gets, and how to change it", binding},
    {"environment", "environment variables that dllaunch reads and sets", environment},
    {"exit-codes", "what the exit codes mean", exit_code_page},
    {"job-file", "the keys of a job file", job_file},
    {"recovery", "what happens when ranks end", recovery},
};

}  // namespace

std::span<const Topic> topics() {
  return topic_table;
}

std::span<const EnvironmentVariable> variables_read() {
  return read_table;
}

std::span<const EnvironmentVariable> variables_set() {
  return set_table;
}

}  // namespace dllaunch
