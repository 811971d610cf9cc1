// The ring all-reduce of the textbooks, for comparison: decentralised, each rank speaks to two.
#pragma once

#include <memory>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// With p ranks and n bytes: 2 (p - 1) steps of n/p bytes each, the least traffic there is, and a
/// latency that grows with p (Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002). Errors as
/// start_mpi().
Result<std::unique_ptr<Communicator>> open_ring(const RankEnv& env);

}  // namespace dllaunch
