// Parameters that are not trained.
#pragma once

#include <span>
#include <string>

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Freezes the parameters selected by the patterns (name_patterns.hpp). Buffers are not parameters:
/// a frozen batch normalisation still updates its running statistics, as PyTorch does with
/// requires_grad=False.
/// bad_request: a pattern matches no parameter, or no parameter is left to train.
Result<Ok> freeze_parameters(Graph& graph, std::span<const std::string> patterns);

/// Returns the number of elements of frozen parameters.
std::int64_t frozen_count(const Graph& graph);

}  // namespace dllaunch
