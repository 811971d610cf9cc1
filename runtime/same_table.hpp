// Whether all ranks lay their parameters out alike; else sums would mix them up.
#pragma once

#include <span>
#include <string>

#include "runtime/communicator.hpp"
#include "topology/result.hpp"

namespace dllaunch {

/// Collective, at step 0: do all ranks have the same table? One row a parameter, its name first,
/// then shape, type and layout. bad_request on every rank: names the first row that differs, and
/// the ranks that differ from rank 0.
Result<Ok> check_same_table(Communicator& communicator, std::span<const std::string> rows);

}  // namespace dllaunch
