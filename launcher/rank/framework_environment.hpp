// The environment variables that tell a framework's program its rank. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/rank/rendezvous/messages.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct FrameworkContext {
  // pytorch | tensorflow | horovod | jax | deepspeed | mpi | none; empty: the built-in trainer.
  std::string framework = "none";
  RankEnv rank = {};
  std::string host = {};
  std::string start_name = {};
  RendezvousPoint point = {};             // port 0: no rendezvous
  std::vector<std::string> workers = {};  // HOST:PORT by rank, for TensorFlow
  int visible_gpus = 0;                   // visible to this process
};

/// Whether every rank needs a port of its own.
bool needs_workers(const std::string& framework);

/// bad_request: unknown framework, with the nearest name as a hint; horovod without MPI started.
Result<Ok> check_framework(const FrameworkContext& context, const EnvLookup& lookup);

/// Returns MASTER_ADDR, MASTER_PORT, DLLAUNCH_START_SECRET and the framework's own variables.
Variables framework_variables(const FrameworkContext& context, const EnvLookup& lookup);

/// Returns those of `names` by which another launcher, an earlier job or a start-up file defines
/// ranks or the rendezvous. They are removed unless rank_variables() or framework_variables() sets
/// them, so that there is one answer. Settings such as NCCL_DEBUG or HOROVOD_FUSION_THRESHOLD stay,
/// and so do variables that MPI_Init reads from our launcher.
std::vector<std::string> contradicting_variables(const std::vector<std::string>& names,
                                                 const EnvLookup& lookup);

/// The innermost starter started this process; variables of the others are inherited.
enum class RankStarter { slurm, mpirun, spawn, unknown };

/// Returns the nearest starter. `ancestors`: names of the parent, its parent and so on, as in
/// /proc/PID/comm. Shells and wrappers are skipped.
RankStarter nearest_starter(const std::vector<std::string>& ancestors);

/// Returns those of `names` that the starter cannot have set: Open MPI's under srun, those of every
/// MPI under `dllaunch spawn`, whose own the others cannot have set, torchrun's under all. Remove
/// them before reading the rank.
std::vector<std::string> inherited_variables(const std::vector<std::string>& names,
                                             RankStarter starter, const EnvLookup& lookup);

}  // namespace dllaunch
