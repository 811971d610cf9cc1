#include "trainer/graph/readers.hpp"

#include <algorithm>

namespace dllaunch {

std::vector<std::vector<int>> readers_of(const Graph& graph) {
  std::vector<std::vector<int>> readers(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int input : graph.nodes[n].inputs) {
      readers[static_cast<std::size_t>(input)].push_back(static_cast<int>(n));
    }
  }
  return readers;
}

std::vector<bool> trained_nodes(const Graph& graph) {
  std::vector<bool> trained;
  for (const Node& node : graph.nodes) {
    const auto input_is = [&](int input) { return trained[static_cast<std::size_t>(input)]; };
    const auto learns = [&](int parameter) {
      return !graph.parameters[static_cast<std::size_t>(parameter)].frozen;
    };
    const bool joined = trained.empty() && graph.joints.input;
    trained.push_back(joined || std::ranges::any_of(node.inputs, input_is) ||
                      std::ranges::any_of(node.parameters, learns));
  }
  return trained;
}

}  // namespace dllaunch
