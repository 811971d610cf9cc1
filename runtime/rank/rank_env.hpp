// Rank: a process's place among its peers, its CPU binding, and ownership of the run directory.
// Starts no MPI and no threads: it only reads what the launcher left. Part of runtime_core.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct RankEnv {
  int rank = 0;  // 0 .. world_size-1
  int world_size = 1;
  int local_rank = 0;  // on this node, 0 .. local_world_size-1
  int local_world_size = 1;
  int node_rank = 0;  // 0 .. nodes-1; -1: unknown
  int nodes = 1;      // 0: unknown
  // dllaunch (`dllaunch spawn`) | slurm | openmpi | jsrun | pmix | pmi | torchrun | none
  std::string launcher = "none";
  bool mpi = false;  // MPI_Init can find the peers
};

using EnvLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The process's own environment. Only this function and main read it.
EnvLookup process_environment();
/// The names of its variables.
std::vector<std::string> process_variables();

/// Prefix of the TORCHELASTIC_RUN_ID that `dllaunch exec` sets for PyTorch, to tell it from
/// torchrun's.
inline constexpr std::string_view own_run_id = "dllaunch-";

/// `dllaunch spawn` sets it to its process id, and RANK etc. beside it.
inline constexpr const char* spawn_variable = "DLLAUNCH_SPAWN";

/// Detects the launcher and returns this process's place. The order is: torchrun's workers
/// (TORCHELASTIC_RUN_ID with RANK), Open MPI (OMPI_COMM_WORLD_*: an mpirun inside a Slurm job wins
/// over the inherited SLURM_PROCID), `dllaunch spawn`, a Slurm step (SLURM_PROCID with
/// SLURM_STEP_ID), jsrun, PMIx, PMI/Hydra, torchrun (RANK ...). Without any of them: one rank,
/// launcher "none".
/// bad_request: a variable that is not a number, or a rank outside its size; has name and value.
Result<RankEnv> read_rank_env(const EnvLookup& lookup);

/// Returns DLLAUNCH_GENERATION, the fencing token of this process's incarnation of the run
/// (run_ownership.hpp); nullopt if unset. bad_request: it is not a valid token.
Result<std::optional<std::int64_t>> read_fencing_token(const EnvLookup& lookup);

}  // namespace dllaunch
