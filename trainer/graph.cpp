#include "trainer/graph.hpp"

#include <fmt/format.h>

#include <cassert>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace dllaunch {
namespace {

/// What a node makes of its input: an output shape and the shape of its weights, or a problem.
struct Inferred {
  Shape shape;
  Shape weight;  // empty: the operation has no parameters
  bool bias = false;
  std::string problem;  // "needs at least 2x2 pixels, got [64,1,1]"
};

Inferred refuse(std::string problem) {
  return {.shape = {}, .weight = {}, .bias = false, .problem = std::move(problem)};
}

Inferred needs_image(const Shape& x) {
  return refuse(fmt::format("needs an image [channels,height,width], got {}", to_string(x)));
}

/// Output pixels along one axis; floor mode.
std::int64_t windows(std::int64_t pixels, int kernel, int stride, int padding) {
  return (pixels + std::int64_t{2} * padding - kernel) / stride + 1;
}

Inferred infer(const Input&, const Shape&) {
  return refuse("is an input in the middle of the graph");
}

Inferred infer(const Conv2d& op, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (op.channels < 1 || op.kernel < 1 || op.stride < 1 || op.padding < 0) {
    return refuse(
        fmt::format("cannot be a convolution of {} channels, kernel {}, stride {}, padding {}",
                    op.channels, op.kernel, op.stride, op.padding));
  }
  if (op.padding >= op.kernel) {
    return refuse(fmt::format("pads {} pixels, which a kernel of {} can fall into whole",
                              op.padding, op.kernel));
  }
  const int needed = std::max(op.kernel - 2 * op.padding, 1);
  if (x[1] < needed || x[2] < needed) {
    return refuse(fmt::format("needs at least {}x{} pixels, got {}", needed, needed, to_string(x)));
  }
  return {.shape = {op.channels, windows(x[1], op.kernel, op.stride, op.padding),
                    windows(x[2], op.kernel, op.stride, op.padding)},
          .weight = {op.channels, x[0], op.kernel, op.kernel},
          .bias = op.bias,
          .problem = {}};
}

Inferred infer(const Dense& op, const Shape& x) {
  if (x.size() != 1) {
    return refuse(fmt::format("needs a vector, got {}: flatten it first", to_string(x)));
  }
  if (op.units < 1) return refuse(fmt::format("needs at least 1 unit, got {}", op.units));
  return {.shape = {op.units}, .weight = {op.units, x[0]}, .bias = op.bias, .problem = {}};
}

Inferred infer_pool(int kernel, int stride, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (kernel < 1 || stride < 1) {
    return refuse(fmt::format("cannot pool with kernel {}, stride {}", kernel, stride));
  }
  if (x[1] < kernel || x[2] < kernel) {
    return refuse(fmt::format("needs at least {}x{} pixels, got {}", kernel, kernel, to_string(x)));
  }
  return {.shape = {x[0], windows(x[1], kernel, stride, 0), windows(x[2], kernel, stride, 0)},
          .weight = {},
          .bias = false,
          .problem = {}};
}

Inferred infer(const MaxPool2d& op, const Shape& x) {
  return infer_pool(op.kernel, op.stride, x);
}

Inferred infer(const AvgPool2d& op, const Shape& x) {
  return infer_pool(op.kernel, op.stride, x);
}

Inferred same_shape(const Shape& x) {
  return {.shape = x, .weight = {}, .bias = false, .problem = {}};
}

Inferred infer(const Relu&, const Shape& x) {
  return same_shape(x);
}

Inferred infer(const Tanh&, const Shape& x) {
  return same_shape(x);
}

Inferred infer(const Flatten&, const Shape& x) {
  return same_shape({elements_of(x)});
}

/// The first node that is neither read by another nor the last, or -1.
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

std::int64_t elements_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

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
  graph_.nodes.push_back(
      {.name = "input", .op = Input{}, .inputs = {}, .shape = std::move(input), .parameters = {}});
}

int GraphBuilder::add(std::string name, Operation op) {
  return add(std::move(name), op, static_cast<int>(graph_.nodes.size()) - 1);
}

int GraphBuilder::add(std::string name, Operation op, int input) {
  const int index = static_cast<int>(graph_.nodes.size());
  assert(input >= 0 && input < index);
  Node node{.name = std::move(name), .op = op, .inputs = {input}, .shape = {}, .parameters = {}};

  // After the first problem shapes are unknown: nothing more can be said, so nothing is.
  if (problem_.empty()) {
    for (const Node& other : graph_.nodes) {
      if (other.name == node.name) problem_ = fmt::format("two nodes are called {}", node.name);
    }
    const Shape& x = graph_.nodes[static_cast<std::size_t>(input)].shape;
    Inferred inferred = std::visit([&x](const auto& one) { return infer(one, x); }, op);
    if (problem_.empty() && !inferred.problem.empty()) {
      problem_ = node.name + " " + inferred.problem;
    }
    node.shape = std::move(inferred.shape);
    if (problem_.empty() && !inferred.weight.empty()) {
      add_parameters(node, std::move(inferred.weight), inferred.bias);
    }
  }
  graph_.nodes.push_back(std::move(node));
  return index;
}

void GraphBuilder::add_parameters(Node& node, Shape weight, bool bias) {
  // Keras counts a convolution's fans per output pixel: the kernel's area times its channels.
  const std::int64_t outputs = weight[0];
  const std::int64_t inputs = weight[1];
  const std::int64_t area = elements_of(weight) / (outputs * inputs);
  const auto add_one = [&](const char* suffix, Shape shape, bool is_bias) {
    node.parameters.push_back(static_cast<int>(graph_.parameters.size()));
    graph_.parameters.push_back({.name = node.name + suffix,
                                 .shape = std::move(shape),
                                 .fan_in = inputs * area,
                                 .fan_out = outputs * area,
                                 .bias = is_bias});
  };
  add_one(".weight", std::move(weight), false);
  if (bias) add_one(".bias", {outputs}, true);
}

Result<Graph> GraphBuilder::finish() && {
  if (problem_.empty() && graph_.nodes.back().shape.size() != 1) {
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
