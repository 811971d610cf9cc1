// Zero-gamma initialisation for large batches: residual blocks start as identities (Goyal et al.
// 2017, arXiv 1706.02677, section 5.1).
#pragma once

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Sets the initial weight of the last batch normalisation of each residual block to zero: the one
/// that is added to the shortcut. If the shortcut also ends with one, the addition's first input is
/// taken. bad_request: no block ends with a batch normalisation.
Result<Ok> zero_last_gammas(Graph& graph);

}  // namespace dllaunch
