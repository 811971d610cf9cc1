#include "launcher/rank/framework_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/base/nearest_name.hpp"
#include "runtime/rank/transport.hpp"
#include "support/json.hpp"
#include "support/network/proof.hpp"

namespace dllaunch {
namespace {

using Names = std::vector<std::string>;

constexpr std::array<std::string_view, 7> frameworks = {
    "none", "pytorch", "tensorflow", "horovod", "jax", "deepspeed", "mpi"};

/// A trailing '*' matches any suffix.
constexpr std::array<std::string_view, 25> identities = {
    "MASTER_ADDR",        "MASTER_PORT",          "NODE_RANK",
    "GROUP_RANK",         "GROUP_WORLD_SIZE",     "ROLE_RANK",
    "ROLE_NAME",          "ROLE_WORLD_SIZE",      "TORCHELASTIC_*",
    "TF_CONFIG",          "JAX_COORDINATOR_*",    "JAX_NUM_PROCESSES",
    "JAX_PROCESS_ID",     "JAX_LOCAL_DEVICE_IDS", "HOROVOD_RANK",
    "HOROVOD_SIZE",       "HOROVOD_LOCAL_RANK",   "HOROVOD_LOCAL_SIZE",
    "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE",   "HOROVOD_HOSTNAME",
    "CROSS_RANK",         "CROSS_SIZE",           "LOCAL_SIZE",
    start_secret_variable};

constexpr std::array<std::string_view, 10> of_openmpi = {
    "OMPI_COMM_WORLD_*", "OMPI_MCA_orte_*", "OMPI_MCA_ess*",    "OMPI_UNIVERSE_SIZE",
    "OMPI_APP_CTX_*",    "OMPI_NUM_APP_*",  "OMPI_FIRST_RANKS", "OMPI_FILE_LOCATION",
    "OMPI_COMMAND",      "OMPI_ARGV"};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

template <typename Patterns>
bool is_one_of(std::string_view name, const Patterns& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return matches(name, pattern); });
}

std::string text(int number) {
  return std::to_string(number);
}

/// Whether all nodes have the same number of ranks, as far as this rank can tell.
bool uniform(const RankEnv& rank) {
  return rank.node_rank >= 0 && rank.nodes > 0 &&
         rank.nodes * rank.local_world_size == rank.world_size;
}

/// Lightning detects torchrun by RANK, GROUP_RANK, LOCAL_RANK and LOCAL_WORLD_SIZE, or in newer
/// versions by torchrun's marker: set all of them or none.
void add_pytorch(const FrameworkContext& context, const EnvLookup& lookup, Variables& all) {
  const auto& rank = context.rank;
  if (rank.node_rank < 0 || rank.nodes < 1) return;
  all.emplace_back("GROUP_RANK", text(rank.node_rank));
  all.emplace_back("GROUP_WORLD_SIZE", text(rank.nodes));
  all.emplace_back("ROLE_NAME", "default");
  all.emplace_back("ROLE_RANK", text(rank.rank));
  all.emplace_back("ROLE_WORLD_SIZE", text(rank.world_size));
  all.emplace_back("TORCHELASTIC_RUN_ID", std::string(own_run_id) + context.start_name);
  all.emplace_back("TORCHELASTIC_RESTART_COUNT", lookup("SLURM_RESTART_COUNT").value_or("0"));
  all.emplace_back("TORCHELASTIC_MAX_RESTARTS", "0");
}

void add_deepspeed(const FrameworkContext& context, const EnvLookup& lookup, Variables& all) {
  add_pytorch(context, lookup, all);
  const auto& rank = context.rank;
  all.emplace_back("LOCAL_SIZE", text(rank.local_world_size));
  if (rank.node_rank < 0 || rank.nodes < 1) return;
  all.emplace_back("CROSS_RANK", text(rank.node_rank));
  all.emplace_back("CROSS_SIZE", text(rank.nodes));
}

bool chose_gloo(const EnvLookup& lookup) {
  return lookup("HOROVOD_CONTROLLER") == "gloo";
}

void add_horovod(const FrameworkContext& context, const EnvLookup& lookup, Variables& all) {
  const auto& rank = context.rank;
  all.emplace_back("HOROVOD_RANK", text(rank.rank));
  all.emplace_back("HOROVOD_SIZE", text(rank.world_size));
  all.emplace_back("HOROVOD_LOCAL_RANK", text(rank.local_rank));
  all.emplace_back("HOROVOD_LOCAL_SIZE", text(rank.local_world_size));
  if (uniform(rank)) {
    all.emplace_back("HOROVOD_CROSS_RANK", text(rank.node_rank));
    all.emplace_back("HOROVOD_CROSS_SIZE", text(rank.nodes));
  }
  all.emplace_back("HOROVOD_HOSTNAME", context.host);
  if (rank.mpi && !lookup("HOROVOD_CONTROLLER")) all.emplace_back("HOROVOD_CONTROLLER", "mpi");
}

void add_tensorflow(const FrameworkContext& context, Variables& all) {
  if (context.workers.empty()) return;
  const Json config = {{"cluster", {{"worker", context.workers}}},
                       {"task", {{"type", "worker"}, {"index", context.rank.rank}}}};
  all.emplace_back("TF_CONFIG", config.dump());
}

/// Without it, JAX on Slurm uses the GPU numbered by the local rank: one of several for a rank
/// alone on its node, and a missing one if srun isolates the ranks' GPUs.
std::string device_ids(const FrameworkContext& context) {
  const int gpus = context.visible_gpus;
  const int ranks = context.rank.local_world_size;
  const int local = context.rank.local_rank;
  if (gpus == 0) return "";
  if (gpus < ranks) return gpus == 1 ? "0" : text(local % gpus);
  std::vector<int> ids;
  for (int id = gpus * local / ranks; id < gpus * (local + 1) / ranks; ++id) ids.push_back(id);
  return fmt::format("{}", fmt::join(ids, ","));
}

void add_jax(const FrameworkContext& context, Variables& all) {
  if (context.point.port > 0) {
    all.emplace_back("JAX_COORDINATOR_ADDRESS",
                     with_port(context.point.address, context.point.port));
  }
  all.emplace_back("JAX_NUM_PROCESSES", text(context.rank.world_size));
  all.emplace_back("JAX_PROCESS_ID", text(context.rank.rank));
  const auto ids = device_ids(context);
  if (!ids.empty()) all.emplace_back("JAX_LOCAL_DEVICE_IDS", ids);
}

}  // namespace

bool needs_workers(const std::string& framework) {
  return framework == "tensorflow";
}

Result<Ok> check_framework(const FrameworkContext& context, const EnvLookup& lookup) {
  const auto& name = context.framework;
  const bool known_name = std::find(frameworks.begin(), frameworks.end(), name) != frameworks.end();
  if (!name.empty() && !known_name) {
    const Names known(frameworks.begin(), frameworks.end());
    const auto near = nearest_name(name, known);
    return Error{ErrorKind::bad_request, fmt::format("there is no framework '{}'", name),
                 near ? fmt::format("did you mean {}?", *near)
                      : fmt::format("one of {}", fmt::join(known, ", "))};
  }
  if (name == "horovod" && context.rank.world_size > 1 && !context.rank.mpi &&
      !chose_gloo(lookup)) {
    return Error{ErrorKind::bad_request,
                 "framework horovod needs ranks that were started with MPI, and these were not",
                 "use srun --mpi=pmix (`srun --mpi=list` shows what there is) or mpirun"};
  }
  return Ok{};
}

Variables framework_variables(const FrameworkContext& context, const EnvLookup& lookup) {
  Variables all;
  if (context.point.port > 0) {
    all.emplace_back("MASTER_ADDR", context.point.address);
    all.emplace_back("MASTER_PORT", text(context.point.port));
  }
  // Not the secret itself: what the program says with it proves nothing to `dllaunch exec`.
  if (!context.point.secret.empty()) {
    all.emplace_back(start_secret_variable, secret_of(context.point.secret, "program"));
  }
  const auto& name = context.framework;
  if (name == "pytorch") add_pytorch(context, lookup, all);
  if (name == "deepspeed") add_deepspeed(context, lookup, all);
  if (name == "horovod") add_horovod(context, lookup, all);
  if (name == "tensorflow") add_tensorflow(context, all);
  if (name == "jax") add_jax(context, all);
  return all;
}

Names contradicting_variables(const Names& names, const EnvLookup& lookup) {
  Names found;
  for (const auto& name : names) {
    const bool gloo = name.starts_with("HOROVOD_GLOO_RENDEZVOUS_") && !chose_gloo(lookup);
    if (gloo || is_one_of(name, identities)) found.push_back(name);
  }
  return found;
}

RankStarter nearest_starter(const Names& ancestors) {
  constexpr std::array<std::string_view, 16> transparent = {
      "sh",   "bash",    "dash",      "zsh",         "ksh",    "env",     "time",     "nice",
      "perf", "numactl", "apptainer", "singularity", "strace", "timeout", "starter*", "taskset"};
  constexpr std::array<std::string_view, 9> of_mpirun = {"mpirun*", "mpiexec*", "orterun",
                                                         "orted",   "prted",    "prterun",
                                                         "prte",    "hydra_*",  "pmi_proxy"};
  for (const auto& name : ancestors) {
    if (name == "slurmstepd") return RankStarter::slurm;
    if (is_one_of(name, of_mpirun)) return RankStarter::mpirun;
    if (!is_one_of(name, transparent)) break;
  }
  return RankStarter::unknown;
}

Names inherited_variables(const Names& names, RankStarter starter, const EnvLookup& lookup) {
  Names found;
  if (starter == RankStarter::unknown) return found;
  // Slurm's own plug-in uses "slurm.pmix.JOB.STEP".
  const bool foreign_pmix = !lookup("PMIX_NAMESPACE").value_or("slurm.").starts_with("slurm.");
  const bool spawned = starter == RankStarter::spawn;
  for (const auto& name : names) {
    const bool torchrun = name.starts_with("TORCHELASTIC_");
    const bool pmix = name.starts_with("PMIX_") && name != "PMIX_MCA";
    const bool openmpi = starter != RankStarter::mpirun &&
                         (is_one_of(name, of_openmpi) || (pmix && (foreign_pmix || spawned)));
    const bool of_spawn = spawned ? name.starts_with("PMI_") : name == spawn_variable;
    if (torchrun || openmpi || of_spawn) found.push_back(name);
  }
  return found;
}

}  // namespace dllaunch
