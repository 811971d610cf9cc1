// Checks that all ranks agree, on parameter layouts or on data: otherwise sums would mix them up.
#pragma once

#include <span>
#include <string>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// How error messages call the table.
struct TableWords {
  std::string table = "parameter table";
  std::string row = "parameter";
  std::string hint = "start every rank with the same program, configuration and CPU type";
  int first_rank = 0;  // the job's number of the communicator's rank 0; the others follow it
};

/// Collective, at step 0. Ok if all ranks have the same table: one row per parameter, its name
/// first, then shape, type and layout. bad_request on every rank: names the first row that differs,
/// and the ranks that differ from rank 0.
Result<Ok> check_same_table(Communicator& communicator, std::span<const std::string> rows,
                            const TableWords& words = {});

}  // namespace dllaunch
