// The variables by which a framework's program learns who it is. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/rank/rendezvous/messages.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct FrameworkScene {
  // pytorch | tensorflow | horovod | jax | deepspeed | mpi | none; empty: the built-in trainer.
  std::string framework = "none";
  RankEnv rank = {};
  std::string host = {};
  std::string start_name = {};
  RendezvousPoint point = {};             // port 0: the ranks do not meet
  std::vector<std::string> workers = {};  // HOST:PORT by rank, for tensorflow
  int visible_gpus = 0;                   // that this process sees
};

/// Whether every rank needs a port of its own.
bool needs_workers(const std::string& framework);

/// bad_request: a framework that does not exist, with the nearest one that does; horovod where
/// nothing has started MPI.
Result<Ok> check_framework(const FrameworkScene& scene, const EnvLookup& lookup);

/// MASTER_ADDR and MASTER_PORT, and the framework's own.
Variables framework_variables(const FrameworkScene& scene, const EnvLookup& lookup);

/// Of `names`, those by which another launcher, an earlier job or a start-up file says who a
/// process is or where ranks meet. Whatever rank_variables() and framework_variables() do not set
/// anew has to go, so that there are never two answers. Settings such as NCCL_DEBUG or
/// HOROVOD_FUSION_THRESHOLD stay, and so does what MPI_Init reads of the launcher that is ours.
std::vector<std::string> contradicting_variables(const std::vector<std::string>& names,
                                                 const EnvLookup& lookup);

/// The innermost of these is what started us; the rest was inherited.
enum class RankStarter { slurm, mpirun, unknown };

/// By the names of the parent, its parent and so on, as in /proc/PID/comm; shells and the like are
/// looked through.
RankStarter nearest_starter(const std::vector<std::string>& ancestors);

/// Of `names`, what cannot be the starter's: Open MPI's where srun started us, torchrun's where
/// either did. To be removed before the rank is read.
std::vector<std::string> inherited_variables(const std::vector<std::string>& names,
                                             RankStarter starter, const EnvLookup& lookup);

}  // namespace dllaunch
