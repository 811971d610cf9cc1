#include "trainer/graph/zero_gamma.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace dllaunch {

Result<Ok> zero_last_gammas(Graph& graph) {
  bool found = false;
  for (const Node& node : graph.nodes) {
    if (!std::holds_alternative<Add>(node.op)) continue;
    const auto last = std::ranges::find_if(node.inputs, [&](int input) {
      return std::holds_alternative<BatchNorm>(graph.nodes[static_cast<std::size_t>(input)].op);
    });
    if (last == node.inputs.end()) continue;
    const Node& norm = graph.nodes[static_cast<std::size_t>(*last)];
    graph.parameters[static_cast<std::size_t>(norm.parameters[0])].initial = Initial::zeros;
    found = true;
  }
  if (found) return Ok{};
  return Error{
      ErrorKind::bad_request,
      fmt::format("zero_gamma: no block of model {} ends with batch normalisation", graph.model),
      "remove zero_gamma"};
}

}  // namespace dllaunch
