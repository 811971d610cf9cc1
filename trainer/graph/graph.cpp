#include "trainer/graph/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace dllaunch {
namespace {

/// What a node makes of its inputs, or a problem. Parameters and buffers have only the end of their
/// name yet.
struct Inferred {
  Shape shape;
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::string problem;  // "needs at least 2x2 pixels, got [64,1,1]"
};

Inferred refuse(std::string problem) {
  Inferred inferred;
  inferred.problem = std::move(problem);
  return inferred;
}

Inferred only(Shape shape) {
  Inferred inferred;
  inferred.shape = std::move(shape);
  return inferred;
}

Inferred needs_image(const Shape& x) {
  return refuse(fmt::format("needs an image [channels,height,width], got {}", to_string(x)));
}

/// Output pixels along one axis; floor mode.
std::int64_t windows(std::int64_t pixels, int kernel, int stride, int padding) {
  return (pixels + std::int64_t{2} * padding - kernel) / stride + 1;
}

/// Weight [outputs, inputs, ...] and bias [outputs].
std::vector<Parameter> weight_and_bias(const Shape& weight, bool bias, Initial initial) {
  // Keras counts a convolution's fans per output pixel: the kernel's area times its channels.
  const std::int64_t area = elements_of(weight) / (weight[0] * weight[1]);
  const std::int64_t fan_in = weight[1] * area;
  const std::int64_t fan_out = weight[0] * area;
  std::vector<Parameter> both = {{"weight", weight, fan_in, fan_out, initial}};
  const bool drawn = initial == Initial::torch_uniform;
  if (bias)
    both.push_back({"bias", {weight[0]}, fan_in, fan_out, drawn ? initial : Initial::zeros});
  return both;
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
  Inferred inferred = only({op.channels, windows(x[1], op.kernel, op.stride, op.padding),
                            windows(x[2], op.kernel, op.stride, op.padding)});
  inferred.parameters =
      weight_and_bias({op.channels, x[0], op.kernel, op.kernel}, op.bias, op.initial);
  return inferred;
}

Inferred needs_volume(const Shape& x) {
  return refuse(fmt::format("needs a volume [channels,depth,height,width], got {}", to_string(x)));
}

bool all_at_least(const std::array<int, 3>& extents, int least) {
  return std::ranges::all_of(extents, [least](int extent) { return extent >= least; });
}

/// [channels] and the output's depth, height and width, or what they would need.
Inferred slide(const Shape& x, std::int64_t channels, const Conv3d& window) {
  Inferred inferred = only({channels});
  std::array<int, 3> needed{};
  bool fits = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int kernel = window.kernel[axis];
    const int padding = window.padding[axis];
    needed[axis] = std::max(kernel - 2 * padding, 1);
    fits = fits && x[axis + 1] >= needed[axis];
    inferred.shape.push_back(windows(x[axis + 1], kernel, window.stride[axis], padding));
  }
  if (fits) return inferred;
  return refuse(fmt::format("needs at least {} elements (depth, height, width), got {}",
                            fmt::join(needed, "x"), to_string(x)));
}

Inferred infer(const Conv3d& op, const Shape& x) {
  if (x.size() != 4) return needs_volume(x);
  bool padded = all_at_least(op.padding, 0);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    padded = padded && op.padding[axis] < op.kernel[axis];
  }
  if (op.channels < 1 || !all_at_least(op.kernel, 1) || !all_at_least(op.stride, 1) || !padded) {
    return refuse(fmt::format(
        "cannot be a convolution of {} channels, kernel {}, stride {}, padding {}", op.channels,
        fmt::join(op.kernel, "x"), fmt::join(op.stride, "x"), fmt::join(op.padding, "x")));
  }
  Inferred inferred = slide(x, op.channels, op);
  const Shape weight{op.channels, x[0], op.kernel[0], op.kernel[1], op.kernel[2]};
  if (inferred.problem.empty()) inferred.parameters = weight_and_bias(weight, op.bias, op.initial);
  return inferred;
}

Inferred infer(const MaxPool3d& op, const Shape& x) {
  if (x.size() != 4) return needs_volume(x);
  if (!all_at_least(op.kernel, 1) || !all_at_least(op.stride, 1)) {
    return refuse(fmt::format("cannot pool with kernel {}, stride {}", fmt::join(op.kernel, "x"),
                              fmt::join(op.stride, "x")));
  }
  return slide(x, x[0], {.kernel = op.kernel, .stride = op.stride});
}

Inferred infer(const Dense& op, const Shape& x) {
  if (x.size() != 1) {
    return refuse(fmt::format("needs a vector, got {}: flatten it first", to_string(x)));
  }
  if (op.units < 1) return refuse(fmt::format("needs at least 1 unit, got {}", op.units));
  Inferred inferred = only({op.units});
  inferred.parameters = weight_and_bias({op.units, x[0]}, op.bias, op.initial);
  return inferred;
}

Inferred infer(const BatchNorm& op, const Shape& x) {
  if (x.size() == 2 || x.size() > 4) return needs_image(x);
  if (!(op.eps > 0) || !(op.momentum > 0) || op.momentum > 1) {
    return refuse(fmt::format("cannot normalise with eps {}, momentum {}", op.eps, op.momentum));
  }
  const Shape channels = {x[0]};
  Inferred inferred = only(x);
  inferred.parameters = {{"weight", channels, x[0], x[0], op.weight},
                         {"bias", channels, x[0], x[0], Initial::zeros}};
  inferred.buffers = {{"running_mean", channels, DType::f32, 0},
                      {"running_var", channels, DType::f32, 1},
                      {"num_batches_tracked", {}, DType::i64, 0}};
  return inferred;
}

Inferred infer_pool(int kernel, int stride, int padding, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (kernel < 1 || stride < 1 || padding < 0 || 2 * padding > kernel) {
    return refuse(
        fmt::format("cannot pool with kernel {}, stride {}, padding {}", kernel, stride, padding));
  }
  const int needed = std::max(kernel - 2 * padding, 1);
  if (x[1] < needed || x[2] < needed) {
    return refuse(fmt::format("needs at least {}x{} pixels, got {}", needed, needed, to_string(x)));
  }
  return only(
      {x[0], windows(x[1], kernel, stride, padding), windows(x[2], kernel, stride, padding)});
}

Inferred infer(const MaxPool2d& op, const Shape& x) {
  return infer_pool(op.kernel, op.stride, op.padding, x);
}

Inferred infer(const AvgPool2d& op, const Shape& x) {
  return infer_pool(op.kernel, op.stride, 0, x);
}

Inferred infer(const GlobalAvgPool&, const Shape& x) {
  return x.size() == 3 || x.size() == 4 ? only({x[0]}) : needs_image(x);
}

Inferred infer(const ZeroPad2d& op, const Shape& x) {
  if (x.size() != 3) return needs_image(x);
  if (op.pixels < 1) return refuse(fmt::format("cannot pad {} pixels", op.pixels));
  const std::int64_t both = std::int64_t{2} * op.pixels;
  return only({x[0], x[1] + both, x[2] + both});
}

Inferred infer(const Relu&, const Shape& x) {
  return only(x);
}

Inferred infer(const Tanh&, const Shape& x) {
  return only(x);
}

Inferred infer(const Dropout& op, const Shape& x) {
  if (op.rate >= 0 && op.rate < 1) return only(x);
  return refuse(fmt::format("drops a part of {}, which is not from 0 to below 1", op.rate));
}

Inferred infer(const Flatten&, const Shape& x) {
  return only({elements_of(x)});
}

Inferred infer(const Add&, const Shape& x, const Shape& other) {
  if (x == other) return only(x);
  return refuse(fmt::format("cannot add {} to {}", to_string(other), to_string(x)));
}

/// Each operation has one number of inputs, that of its infer().
Inferred infer_any(const Operation& op, std::span<const Shape* const> inputs) {
  return std::visit(
      [&](const auto& one) -> Inferred {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Add>) {
          if (inputs.size() == 2) return infer(one, *inputs[0], *inputs[1]);
          return refuse("adds two inputs");
        } else {
          if (inputs.size() == 1) return infer(one, *inputs[0]);
          return refuse("reads one input");
        }
      },
      op);
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

int GraphBuilder::add_node(Node node) {
  const int index = static_cast<int>(graph_.nodes.size());
  std::vector<const Shape*> inputs;
  for (const int input : node.inputs) {
    assert(input >= 0 && input < index);
    inputs.push_back(&graph_.nodes[static_cast<std::size_t>(input)].shape);
  }
  // After the first problem shapes are unknown: nothing more can be said, so nothing is.
  if (problem_.empty()) {
    for (const Node& other : graph_.nodes) {
      if (other.name == node.name) problem_ = fmt::format("two nodes are called {}", node.name);
    }
    Inferred inferred = infer_any(node.op, inputs);
    if (problem_.empty() && !inferred.problem.empty()) {
      problem_ = node.name + " " + inferred.problem;
    }
    node.shape = std::move(inferred.shape);
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
