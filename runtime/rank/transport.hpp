// How ranks of the built-in trainer exchange messages: the launcher and the ranks decide alike.
#pragma once

#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The variable in which `dllaunch exec` hands its program a secret of the start. Over TCP, ranks
/// prove to each other that they know it.
inline constexpr const char* start_secret_variable = "DLLAUNCH_START_SECRET";

/// The variable that chooses between them.
inline constexpr const char* transport_variable = "DLLAUNCH_TRANSPORT";

enum class Transport { tcp, mpi };

/// Returns what DLLAUNCH_TRANSPORT says; with "auto", or unset, mpi where the ranks were started by
/// a launcher that MPI knows and there is an MPI module, else tcp. bad_request: it says something
/// else.
Result<Transport> transport_of(const RankEnv& env, const EnvLookup& lookup);

}  // namespace dllaunch
