// A start for large batches: residual blocks that pass on what they get (Goyal et al. 2017).
#pragma once

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// The weight of the last batch normalisation of every block starts at zero: of the one that is
/// added to the shortcut; of two, where the shortcut has one as well, the first that is added.
/// bad_request: no block ends with one.
Result<Ok> zero_last_gammas(Graph& graph);

}  // namespace dllaunch
