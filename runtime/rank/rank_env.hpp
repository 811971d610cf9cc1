// Who this process is among its peers, from whatever started it. Part of runtime_core: no MPI.
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
  int node_rank = 0;              // 0 .. nodes-1; -1 where the launcher does not say
  int nodes = 1;                  // 0 where the launcher does not say
  std::string launcher = "none";  // slurm | openmpi | jsrun | pmix | pmi | torchrun | none
  bool mpi = false;               // started so that MPI_Init finds its peers
};

using EnvLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// The process's own environment. The one place besides main that reads it.
EnvLookup process_environment();
/// The names in it.
std::vector<std::string> process_variables();

/// What `dllaunch exec` gives PyTorch programs as TORCHELASTIC_RUN_ID begins so: not torchrun's.
inline constexpr std::string_view own_run_id = "dllaunch-";

/// Read in this order: torchrun's workers (TORCHELASTIC_RUN_ID with RANK), Open MPI
/// (OMPI_COMM_WORLD_*: mpirun inside a Slurm job is the inner launcher and wins over inherited
/// SLURM_PROCID), a Slurm step (SLURM_PROCID with SLURM_STEP_ID), jsrun, PMIx, PMI/Hydra, torchrun
/// (RANK ...). None of them: one rank, launcher "none". bad_request: a variable that is not a
/// number, or a rank outside its size, by name and value.
Result<RankEnv> read_rank_env(const EnvLookup& lookup);

/// DLLAUNCH_GENERATION: of the run's lives the one that this process belongs to (lease.hpp);
/// nothing where it is not set. bad_request: it is no generation.
Result<std::optional<std::int64_t>> read_generation(const EnvLookup& lookup);

}  // namespace dllaunch
