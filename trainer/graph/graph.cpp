#include "trainer/graph/graph.hpp"

#include <fmt/core.h>

#include <cassert>
#include <span>
#include <utility>

namespace dllaunch {
namespace {

Inferred infer_any(const Operation& op, std::span<const Shape* const> inputs) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) {
        if constexpr (Kind::traits.inputs == 2) {
          if (inputs.size() == 2) return infer(kind, *inputs[0], *inputs[1]);
          return shape_error("adds two inputs");
        } else {
          if (inputs.size() == 1) return infer(kind, *inputs[0]);
          return shape_error("reads one input");
        }
      },
      op);
}

/// Returns the first node, other than the last, that no node reads; -1: none.
int first_unread(const std::vector<Node>& nodes) {
  std::vector<bool> read(nodes.size(), false);
  read.back() = true;
  for (const Node& node : nodes) {
    for (const int input : node.inputs) read[static_cast<std::size_t>(input)] = true;
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

std::int64_t Graph::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters) count += elements_of(parameter.shape);
  return count;
}

GraphBuilder::GraphBuilder(std::string model, Shape input) {
  graph_.model = std::move(model);
  for (const std::int64_t extent : input) {
    if (extent < 1) problem_ = fmt::format("cannot read images of {}", to_string(input));
  }
  Node node;
  node.name = "input";
  node.shape = std::move(input);
  graph_.nodes.push_back(std::move(node));
}

int GraphBuilder::add(std::string name, Operation op) {
  return add(std::move(name), op, static_cast<int>(graph_.nodes.size()) - 1);
}

int GraphBuilder::add(std::string name, Operation op, int input) {
  Node node;
  node.name = std::move(name);
  node.op = op;
  node.inputs = {input};
  return add_node(std::move(node));
}

int GraphBuilder::add(std::string name, Operation op, int first, int second) {
  Node node;
  node.name = std::move(name);
  node.op = op;
  node.inputs = {first, second};
  return add_node(std::move(node));
}

int GraphBuilder::add_sharing(std::string name, Operation op, int owner) {
  Node node;
  node.name = std::move(name);
  node.op = op;
  node.inputs = {static_cast<int>(graph_.nodes.size()) - 1};
  return add_node(std::move(node), owner);
}

void GraphBuilder::name_parameters(int node, const std::vector<std::string>& names) {
  if (!problem_.empty()) return;
  const auto& parameters = graph_.nodes[static_cast<std::size_t>(node)].parameters;
  assert(names.size() == parameters.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    graph_.parameters[static_cast<std::size_t>(parameters[i])].name = names[i];
  }
}

void GraphBuilder::share(Node& node, const std::vector<Parameter>& wanted, int owner) {
  const Node& of = graph_.nodes[static_cast<std::size_t>(owner)];
  node.shares = true;
  node.parameters = of.parameters;
  bool fits = wanted.size() == of.parameters.size();
  for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
    const auto parameter = static_cast<std::size_t>(of.parameters[i]);
    fits = graph_.parameters[parameter].shape == wanted[i].shape;
  }
  if (!fits) problem_ = fmt::format("{} cannot share the parameters of {}", node.name, of.name);
}

int GraphBuilder::add_node(Node node, int owner) {
  const int index = static_cast<int>(graph_.nodes.size());
  std::vector<const Shape*> inputs;
  for (const int input : node.inputs) {
    assert(input >= 0 && input < index);
    inputs.push_back(&graph_.nodes[static_cast<std::size_t>(input)].shape);
  }
  // After the first problem shapes are unknown, so further checks are skipped.
  if (problem_.empty()) {
    for (const Node& other : graph_.nodes) {
      if (other.name == node.name) problem_ = fmt::format("two nodes are called {}", node.name);
    }
    Inferred inferred = infer_any(node.op, inputs);
    if (problem_.empty() && !inferred.problem.empty()) {
      problem_ = node.name + " " + inferred.problem;
    }
    node.shape = std::move(inferred.shape);
    if (owner >= 0 && problem_.empty()) {
      share(node, std::exchange(inferred.parameters, {}), owner);
    }
    for (Parameter& parameter : inferred.parameters) {
      parameter.name = node.name + "." + parameter.name;
      node.parameters.push_back(static_cast<int>(graph_.parameters.size()));
      graph_.parameters.push_back(std::move(parameter));
    }
    for (Buffer& buffer : inferred.buffers) {
      buffer.name = node.name + "." + buffer.name;
      node.buffers.push_back(static_cast<int>(graph_.buffers.size()));
      graph_.buffers.push_back(std::move(buffer));
    }
  }
  graph_.nodes.push_back(std::move(node));
  return index;
}

Result<Graph> GraphBuilder::finish() && {
  if (problem_.empty() && graph_.nodes.back().shape.size() > 2) {
    problem_ = fmt::format("{} ends the graph with {}, not with a vector of logits",
                           graph_.nodes.back().name, to_string(graph_.nodes.back().shape));
  }
  if (problem_.empty()) {
    const int unread = first_unread(graph_.nodes);
    if (unread >= 0) {
      problem_ = graph_.nodes[static_cast<std::size_t>(unread)].name + " is read by no other node";
    }
  }
  if (!problem_.empty()) {
    return Error{.kind = ErrorKind::bad_request,
                 .what = fmt::format("model {}: {}", graph_.model, problem_),
                 .hint = {}};
  }
  return std::move(graph_);
}

}  // namespace dllaunch
