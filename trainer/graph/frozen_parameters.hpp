// Parameters that training leaves as they are.
#pragma once

#include <span>
#include <string>

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Freezes the parameters whose names the patterns select (name_patterns.hpp). Buffers are no
/// parameters: the running statistics of a frozen batch normalisation go on moving, as PyTorch's
/// do with requires_grad=False.
/// bad_request: a pattern that means no parameter; nothing is left to train.
Result<Ok> freeze_parameters(Graph& graph, std::span<const std::string> patterns);

/// Elements of them.
std::int64_t frozen_count(const Graph& graph);

}  // namespace dllaunch
