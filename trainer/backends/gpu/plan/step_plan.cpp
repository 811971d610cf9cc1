#include "trainer/backends/gpu/plan/step_plan.hpp"

#include <algorithm>

namespace dllaunch::gpu {
namespace {

template <typename Op>
bool is(const Node& node) {
  return std::holds_alternative<Op>(node.op);
}

std::size_t at(int node) {
  return static_cast<std::size_t>(node);
}

Volume volume_of(const Shape& shape, int batch) {
  Volume v{.rows = batch};
  v.channels = shape.front();
  const std::size_t axes = shape.size() - 1;
  if (axes == 3) v.depth = shape[1];
  if (axes >= 2) v.height = shape[axes - 1];
  if (axes >= 1) v.width = shape[axes];
  return v;
}

std::vector<std::vector<int>> readers_of(const Graph& graph) {
  std::vector<std::vector<int>> readers(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int input : graph.nodes[n].inputs) readers[at(input)].push_back(static_cast<int>(n));
  }
  return readers;
}

/// The node's one reader, -1 where it has another number of them.
int only_reader(const std::vector<std::vector<int>>& readers, int node) {
  return readers[at(node)].size() == 1 ? readers[at(node)].front() : -1;
}

/// Batch normalisation `n` is run by the ReLU behind it, where nothing else reads what is between.
void join_norm(const Graph& graph, const std::vector<std::vector<int>>& readers, int n,
               std::vector<NodePlan>& plans) {
  plans[at(n)].norm = n;
  const int next = only_reader(readers, n);
  if (next < 0) return;
  int relu = next;
  int other = -1;
  if (is<Add>(graph.nodes[at(next)])) {
    if (plans[at(next)].absorbed) return;  // by the normalisation of its other branch
    const std::vector<int>& inputs = graph.nodes[at(next)].inputs;
    other = inputs[0] == n ? inputs[1] : inputs[0];
    relu = only_reader(readers, next);
    if (relu < 0 || plans[at(other)].absorbed) return;
  }
  if (!is<Relu>(graph.nodes[at(relu)])) return;
  plans[at(n)].absorbed = true;
  plans[at(n)].norm = -1;
  if (relu != next) plans[at(next)].absorbed = true;
  plans[at(relu)].norm = n;
  plans[at(relu)].other = other;
  plans[at(relu)].relu = true;
}

/// Does its backward pass read its own output, beside the gradient of that?
bool rereads_output(const Node& node, const NodePlan& plan) {
  return is<Relu>(node) || is<Tanh>(node) || plan.relu;
}

/// And what it was given?
bool rereads_input(const Node& node) {
  return is<Conv2d>(node) || is<Conv3d>(node) || is<Dense>(node);
}

void extend(Use& use, int step) {
  use.last = std::max(use.last, step);
}

/// What node n reads when it runs: its inputs, or those of what it has absorbed.
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
    plan.deltas[at(n)] = {backward(n), node.trains ? backward(n) : -1};
    if (node.absorbed) plan.values[at(n)] = plan.deltas[at(n)] = {};
  }
  for (int n = 0; n < count; ++n) {
    const NodePlan& node = plan.nodes[at(n)];
    if (node.absorbed) continue;
    if (node.trains && rereads_output(graph.nodes[at(n)], node)) {
      extend(plan.values[at(n)], backward(n));
    }
    const std::vector<int> inputs = read_by(graph, plan, n);
    for (const int input : inputs) {
      extend(plan.values[at(input)], n);
      Use& delta = plan.deltas[at(input)];
      delta.first = std::min(delta.first, backward(n));
    }
    const bool rereads = rereads_input(graph.nodes[at(n)]) || node.norm >= 0;
    if (node.trains && rereads) extend(plan.values[at(inputs.front())], backward(n));
  }
  extend(plan.values.back(), plan.steps - 1);
}

}  // namespace

Window window_of(const Operation& op) {
  const auto flat = [](std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
    return Window{{1, kernel, kernel}, {1, stride, stride}, {0, padding, padding}};
  };
  const auto wide = [](const std::array<int, 3>& of) {
    return std::array<std::int64_t, 3>{of[0], of[1], of[2]};
  };
  if (const auto* conv = std::get_if<Conv2d>(&op)) {
    return flat(conv->kernel, conv->stride, conv->padding);
  }
  if (const auto* conv = std::get_if<Conv3d>(&op)) {
    return {wide(conv->kernel), wide(conv->stride), wide(conv->padding)};
  }
  if (const auto* pool = std::get_if<MaxPool2d>(&op)) {
    return flat(pool->kernel, pool->stride, pool->padding);
  }
  if (const auto* pool = std::get_if<AvgPool2d>(&op)) return flat(pool->kernel, pool->stride, 0);
  if (const auto* pool = std::get_if<MaxPool3d>(&op)) {
    return {wide(pool->kernel), wide(pool->stride), {0, 0, 0}};
  }
  return {};
}

StepPlan plan_steps(const Graph& graph, int batch) {
  const auto count = graph.nodes.size();
  StepPlan plan{.nodes = std::vector<NodePlan>(count),
                .values = std::vector<Use>(count),
                .deltas = std::vector<Use>(count),
                .steps = static_cast<int>(2 * count)};
  const auto readers = readers_of(graph);
  for (std::size_t n = 0; n < count; ++n) {
    plan.nodes[n].shape = volume_of(graph.nodes[n].shape, batch);
    const Node& node = graph.nodes[n];
    const auto trains = [&](int input) { return plan.nodes[at(input)].trains; };
    const auto learns = [&](int p) { return !graph.parameters[at(p)].frozen; };
    plan.nodes[n].trains =
        std::ranges::any_of(node.inputs, trains) || std::ranges::any_of(node.parameters, learns);
  }
  // Later branches first: what they add is then surely there when the ReLU runs.
  for (int n = static_cast<int>(count) - 1; n >= 0; --n) {
    if (is<BatchNorm>(graph.nodes[at(n)])) join_norm(graph, readers, n, plan.nodes);
  }
  use_arrays(graph, plan);
  return plan;
}

}  // namespace dllaunch::gpu
