// Checks that all ranks read the same data: a path may differ between nodes.
#pragma once

#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/data/datasets/dataset.hpp"

namespace dllaunch {

/// Returns the rows for check_same_table(): sizes, classes, names and labels, normalisation.
std::vector<std::string> data_rows(const Dataset& dataset, const Normalization& normalization);

/// Collective. bad_request on every rank names what differs, and on which rank.
Result<Ok> check_same_data(Communicator& communicator, const Dataset& dataset,
                           const Normalization& normalization);

}  // namespace dllaunch
