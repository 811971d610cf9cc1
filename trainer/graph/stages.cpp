#include "trainer/graph/stages.hpp"

#include <algorithm>
#include <cassert>
#include <map>

#include "support/position.hpp"
#include "trainer/graph/readers.hpp"

namespace dllaunch {
namespace {

/// Whether a cut before `next`, which reads `node` first, separates nothing that belongs together.
bool is_seam(const Node& node, std::size_t readers, const Node& next) {
  const LayerTraits traits = traits_of(next.op);
  if (traits.activation) return false;
  return traits.weighted || readers > 1 || node.inputs.size() > 1;
}

/// Copies nodes of a network into a stage, with what they need of it.
class StageBuilder {
 public:
  StageBuilder(const Graph& whole, const Node& input) : whole_(whole) {
    stage_.model = whole.model;
    stage_.loss = whole.loss;
    stage_.nodes.push_back({.name = "input",
                            .op = Input{},
                            .inputs = {},
                            .shape = input.shape,
                            .parameters = {},
                            .buffers = {}});
  }

  /// `first`: the whole network's index of the stage's input.
  void add(const Node& node, int first) {
    Node copy = node;
    for (int& input : copy.inputs) input -= first;
    copy.shares = false;
    for (int& parameter : copy.parameters) {
      const auto [place, added] =
          parameters_.try_emplace(parameter, static_cast<int>(stage_.parameters.size()));
      if (added) stage_.parameters.push_back(whole_.parameters[at(parameter)]);
      copy.shares = !added;
      parameter = place->second;
    }
    for (int& buffer : copy.buffers) {
      stage_.buffers.push_back(whole_.buffers[at(buffer)]);
      buffer = static_cast<int>(stage_.buffers.size()) - 1;
    }
    stage_.nodes.push_back(std::move(copy));
  }

  Graph take(Joints joints) {
    stage_.joints = joints;
    return std::move(stage_);
  }

 private:
  const Graph& whole_;
  Graph stage_;
  std::map<int, int> parameters_;  // the whole network's to the stage's
};

}  // namespace

std::vector<int> cut_points(const Graph& graph) {
  const auto readers = readers_of(graph);
  std::vector<int> points;
  int farthest = graph.nodes.empty() ? 0 : 1;  // reader of any node before n
  for (int n = 1; n + 1 < std::ssize(graph.nodes); ++n) {
    for (const int reader : readers[at(n - 1)]) farthest = std::max(farthest, reader);
    const bool seam = is_seam(graph.nodes[at(n)], readers[at(n)].size(), graph.nodes[at(n + 1)]);
    if (farthest <= n && seam) points.push_back(n);
  }
  return points;
}

std::vector<Graph> cut_graph(const Graph& graph, std::span<const int> after) {
  std::vector<Graph> stages;
  int first = 0;
  for (std::size_t stage = 0; stage <= after.size(); ++stage) {
    const bool is_last = stage == after.size();
    const int last = is_last ? static_cast<int>(graph.nodes.size()) - 1 : after[stage];
    assert(first < last);
    StageBuilder builder(graph, graph.nodes[at(first)]);
    for (int n = first + 1; n <= last; ++n) builder.add(graph.nodes[at(n)], first);
    stages.push_back(builder.take({.input = stage > 0, .output = !is_last}));
    first = last;
  }
  return stages;
}

}  // namespace dllaunch
