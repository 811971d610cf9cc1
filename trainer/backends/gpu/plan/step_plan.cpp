#include "trainer/backends/gpu/plan/step_plan.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "support/position.hpp"
#include "trainer/backends/fusion_plan.hpp"
#include "trainer/graph/readers.hpp"

namespace dllaunch::gpu {
namespace {

Volume volume_of(const Shape& shape, int batch) {
  if (shape.size() == 2) return {.rows = batch * shape[0], .channels = shape[1]};
  Volume v{.rows = batch};
  v.channels = shape.front();
  const std::size_t axes = shape.size() - 1;
  if (axes == 3) v.depth = shape[1];
  if (axes >= 2) v.height = shape[axes - 1];
  if (axes >= 1) v.width = shape[axes];
  return v;
}

void extend(Use& use, int step) {
  use.last = std::max(use.last, step);
}

/// Returns the nodes that node n reads: its inputs, or those of its fused group.
std::vector<int> read_by(const Graph& graph, const StepPlan& plan, int n) {
  const NodePlan& node = plan.nodes[at(n)];
  if (node.norm < 0) return graph.nodes[at(n)].inputs;
  std::vector<int> inputs = graph.nodes[at(node.norm)].inputs;
  if (node.other >= 0) inputs.push_back(node.other);
  return inputs;
}

void use_arrays(const Graph& graph, StepPlan& plan) {
  const int count = static_cast<int>(graph.nodes.size());
  const auto backward = [count](int n) { return 2 * count - 1 - n; };
  for (int n = 0; n < count; ++n) {
    const NodePlan& node = plan.nodes[at(n)];
    plan.values[at(n)] = {n, n};
    plan.grads[at(n)] = {backward(n), node.trains ? backward(n) : -1};
    if (node.absorbed) plan.values[at(n)] = plan.grads[at(n)] = {};
  }
  for (int n = 0; n < count; ++n) {
    const NodePlan& node = plan.nodes[at(n)];
    if (node.absorbed) continue;
    if (node.trains && traits_of(graph.nodes[at(n)].op).backward_reads_y) {
      extend(plan.values[at(n)], backward(n));
    }
    for (const int input : read_by(graph, plan, n)) {
      extend(plan.values[at(input)], n);
      Use& grad = plan.grads[at(input)];
      grad.first = std::min(grad.first, backward(n));
    }
    const Node& reader = graph.nodes[at(node.norm >= 0 ? node.norm : n)];
    if (!node.trains || !traits_of(reader.op).backward_reads_x) continue;
    for (const int input : reader.inputs) extend(plan.values[at(input)], backward(n));
  }
}

}  // namespace

Window window_of(const Operation& op) {
  return std::visit([](const auto& kind) { return window_along_axes(kind); }, op);
}

namespace {

std::optional<Error> window_error(const Graph& graph) {
  constexpr std::int64_t most = std::int64_t{std::numeric_limits<std::uint16_t>::max()} + 1;
  for (const Node& node : graph.nodes) {
    if (!traits_of(node.op).stores_argmax) continue;
    const std::int64_t elements = window_of(node.op).elements();
    if (elements <= most) continue;
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: its window has {} elements; on GPUs max pooling has at most {}",
                             node.name, elements, most),
                 "use a smaller kernel, or compute on CPUs"};
  }
  return std::nullopt;
}

std::optional<Error> token_error(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!std::holds_alternative<Embedding>(node.op) || node.inputs.front() == 0) continue;
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: on GPUs an embedding reads the network's input, not {}",
                             node.name, graph.nodes[at(node.inputs.front())].name),
                 "put it first, or compute on CPUs"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> graph_error(const Graph& graph) {
  auto error = window_error(graph);
  return error ? error : token_error(graph);
}

StepPlan plan_steps(const Graph& graph, int batch) {
  const auto count = graph.nodes.size();
  StepPlan plan{.nodes = std::vector<NodePlan>(count),
                .values = std::vector<Use>(count),
                .grads = std::vector<Use>(count),
                .steps = static_cast<int>(2 * count)};
  const std::vector<bool> trained = trained_nodes(graph);
  const FusionPlan fusions = plan_fusions(graph);
  for (std::size_t n = 0; n < count; ++n) {
    const int node = static_cast<int>(n);
    plan.nodes[n].shape = volume_of(graph.nodes[n].shape, batch);
    plan.nodes[n].trains = trained[n];
    plan.nodes[n].absorbed = fusions.absorbed(node);
    const FusedNorm* fused = fusions.of(node);
    if (fused == nullptr || plan.nodes[n].absorbed) continue;
    plan.nodes[n].norm = fused->norm;
    plan.nodes[n].other = fused->other;
    plan.nodes[n].relu = fused->relu >= 0;
  }
  use_arrays(graph, plan);
  return plan;
}

}  // namespace dllaunch::gpu
