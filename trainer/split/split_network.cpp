#include "trainer/split/split_network.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "support/counted.hpp"
#include "support/position.hpp"
#include "trainer/graph/readers.hpp"
#include "trainer/graph/stages.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {
namespace {

Error refusal(const std::string& what, const std::string& hint) {
  return {ErrorKind::bad_request, "runtime.split_dense: " + what, hint};
}

const std::string leave_out = "leave it out of runtime.split_dense";

std::vector<std::string> dense_layers(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<Dense>(node.op)) names.push_back(node.name);
  }
  return names;
}

/// Returns, for each node, whether its output is all that later nodes read of it and those before.
std::vector<bool> crosses_alone(const Graph& graph) {
  const auto readers = readers_of(graph);
  std::vector<bool> alone;
  int farthest = 0;  // reader of any node before n
  for (int n = 0; n < std::ssize(graph.nodes); ++n) {
    alone.push_back(farthest <= n);
    for (const int reader : readers[at(n)]) farthest = std::max(farthest, reader);
  }
  return alone;
}

/// A dense layer to split: nodes first .. last are it and its activation.
struct Span {
  int first = 0;
  int last = 0;
};

Result<Span> span_of(const Graph& graph, const std::string& name, int ranks) {
  const auto found = std::ranges::find(graph.nodes, name, &Node::name);
  const auto* const dense = found == graph.nodes.end() ? nullptr : std::get_if<Dense>(&found->op);
  if (dense == nullptr) {
    const auto known = dense_layers(graph);
    return refusal(
        fmt::format("model {} has no dense layer {}", graph.model, shown_name(name)),
        known.empty() ? "" : fmt::format("its dense layers: {}", fmt::join(known, ", ")));
  }
  if (dense->units < ranks) {
    return refusal(fmt::format("{} has {} for {}", name, counted(dense->units, "column"),
                               counted(ranks, "rank")),
                   leave_out);
  }
  if (dense->input_major) {
    return refusal(fmt::format("{} stores its weight by rows, where columns are not apart", name),
                   leave_out);
  }
  const auto n = static_cast<int>(found - graph.nodes.begin());
  const auto alone = crosses_alone(graph);
  if (!alone[at(n - 1)] || !alone[at(n)]) {
    return refusal(fmt::format("{} cannot be split: a shortcut passes it", name), leave_out);
  }
  Span span{n, n};
  const bool more = n + 1 < std::ssize(graph.nodes);
  if (more && alone[at(n + 1)] && traits_of(graph.nodes[at(n + 1)].op).activation) ++span.last;
  const bool ends = at(span.last) + 1 == graph.nodes.size();
  if (ends && graph.nodes.back().shape.size() > 1) {
    return refusal(fmt::format("{} cannot be split: the loss reads it for each token", name),
                   leave_out);
  }
  return span;
}

/// Layers before and after the split one, which reduce gradients, would each have a copy.
Result<Ok> check_sharing(const std::vector<Graph>& graphs) {
  std::set<std::string> seen;
  for (const Graph& graph : graphs) {
    for (const Parameter& parameter : graph.parameters) {
      if (seen.insert(parameter.name).second) continue;
      return refusal(fmt::format("layers before and after a split one share {}", parameter.name),
                     "train this model without it");
    }
  }
  return Ok{};
}

/// What computes the loss if the last layer is split.
Graph loss_alone(const Graph& whole) {
  Graph graph;
  graph.model = whole.model;
  graph.loss = whole.loss;
  graph.joints = {.input = true, .output = false};
  Node input;
  input.name = "input";
  input.shape = whole.nodes.back().shape;
  Node same = input;
  same.name = "logits";
  same.op = Flatten{};
  same.inputs = {0};
  graph.nodes = {std::move(input), std::move(same)};
  return graph;
}

/// Leaves `units` of a graph that is a dense layer and its activation.
void narrow(Graph& graph, std::int64_t units) {
  std::get<Dense>(graph.nodes[1].op).units = static_cast<int>(units);
  for (std::size_t n = 1; n < graph.nodes.size(); ++n) graph.nodes[n].shape.back() = units;
  for (Parameter& parameter : graph.parameters) parameter.shape.front() = units;
}

bool is_trained(const Graph& graph) {
  return !std::ranges::all_of(graph.parameters, &Parameter::frozen);
}

}  // namespace

int first_trained(std::span<const SplitPart> parts) {
  const auto first =
      std::ranges::find_if(parts, [](const SplitPart& part) { return is_trained(part.graph); });
  return static_cast<int>(first - parts.begin());
}

/// See SplitExecutable::reserve() and RowExchange.
std::int64_t exchange_bytes(std::span<const SplitPart> parts, int batch, int ranks, DType type) {
  std::int64_t between = 0;  // each part's output, and a split one's input, of all samples
  std::int64_t widest = 0;   // of a sample
  std::int64_t widest_split = 0;
  for (const SplitPart& part : parts) {
    const std::int64_t input = elements_of(part.graph.input_shape());
    const std::int64_t output = part.is_split() ? part.graph.labels() * part.rows->all
                                                : elements_of(part.graph.nodes.back().shape);
    if (&part != &parts.back()) between += batch * output;
    widest = std::max({widest, input, output});
    if (!part.is_split()) continue;
    between += std::int64_t{batch} * ranks * input;
    widest_split = std::max({widest_split, input, output});
  }
  if (widest_split == 0) return 0;
  // Gradients and blocks of all samples; units of all samples, of one rank.
  const std::int64_t together =
      std::int64_t{batch} * ranks * 2 * widest_split + batch * widest_split;
  return static_cast<std::int64_t>(bytes_of(type)) * (between + together + batch * widest);
}

Result<std::vector<SplitPart>> split_network(const Graph& graph,
                                             std::span<const std::string> layers, int rank,
                                             int ranks) {
  std::set<int> after;
  std::set<std::string> split;
  bool loss_apart = false;
  for (const std::string& name : layers) {
    const auto span = span_of(graph, name, ranks);
    if (!span) return span.error();
    split.insert(name);
    if (span->first > 1) after.insert(span->first - 1);
    loss_apart = loss_apart || at(span->last) + 1 == graph.nodes.size();
    if (at(span->last) + 1 < graph.nodes.size()) after.insert(span->last);
  }
  auto graphs = cut_graph(graph, std::vector<int>(after.begin(), after.end()));
  if (auto apart = check_sharing(graphs); !apart) return std::move(apart).error();
  std::vector<SplitPart> parts;
  for (Graph& each : graphs) {
    const bool is_split = split.contains(each.nodes[1].name);
    parts.push_back({.graph = std::move(each)});
    if (!is_split) continue;
    const std::int64_t units = parts.back().graph.nodes[1].shape.back();
    parts.back().rows = rows_of_rank(units, rank, ranks);
    narrow(parts.back().graph, (units + ranks - 1) / ranks);
  }
  if (loss_apart) {
    parts.back().graph.joints.output = true;
    parts.push_back({.graph = loss_alone(graph)});
  }
  const int first = first_trained(parts);
  for (int i = 0; i <= first && i < std::ssize(parts); ++i) parts[at(i)].graph.joints.input = false;
  return parts;
}

}  // namespace dllaunch
