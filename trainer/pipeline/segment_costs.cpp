#include "trainer/pipeline/segment_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <type_traits>
#include <variant>

#include "support/position.hpp"
#include "trainer/backends/fusion_plan.hpp"
#include "trainer/graph/readers.hpp"

namespace dllaunch {
namespace {

constexpr double operations_per_second = 1e11;
constexpr double bytes_per_second = 1e10;

int element_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return 8;
    case Precision::bf16:
    case Precision::fp16:
      return 2;
    case Precision::fp32:
    case Precision::tf32:
      break;
  }
  return 4;
}

/// Weights, their gradients and states; they are single, or double with fp64.
std::int64_t held_bytes(const Parameter& parameter, const TrainingSizes& sizes) {
  const double each = sizes.precision == Precision::fp64 ? 8 : 4;
  return static_cast<std::int64_t>(static_cast<double>(elements_of(parameter.shape)) * each *
                                   (2 + sizes.states));
}

/// Floating-point operations of a sample's forward pass; 0: memory sets the time.
double operations(const Graph& graph, const Node& node) {
  const auto outputs = static_cast<double>(elements_of(node.shape));
  if (traits_of(node.op).weighted) {
    const auto weights = elements_of(graph.parameters[at(node.parameters.front())].shape);
    const std::int64_t units = node.shape.size() > 2 ? node.shape.front() : node.shape.back();
    return 2 * outputs * static_cast<double>(weights) / static_cast<double>(units);
  }
  if (const auto* attention = std::get_if<Attention>(&node.op)) {
    // Products of queries with keys, and of the weights with values.
    return 4 * outputs * static_cast<double>(node.shape.front()) / (attention->causal ? 2 : 1);
  }
  return 0;
}

/// Returns, for each node, whether the next node computes its output in place.
std::vector<bool> replaced_nodes(const Graph& graph) {
  const FusionPlan fusions = plan_fusions(graph);
  const auto readers = readers_of(graph);
  std::vector<bool> replaced;
  for (int n = 0; n < std::ssize(graph.nodes); ++n) {
    const auto& next = readers[at(n)];
    const auto in_place = [](const Node& node) {
      const LayerTraits traits = traits_of(node.op);
      return traits.activation || traits.flattening == Flattening::passed_on;
    };
    replaced.push_back(fusions.absorbed(n) ||
                       (n > 0 && next.size() == 1 && in_place(graph.nodes[at(next.front())])));
  }
  return replaced;
}

template <typename Value>
void append(std::string& text, const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    text += fmt::format(" {}", static_cast<int>(value));
  } else if constexpr (requires { value.begin(); }) {
    text += fmt::format(" {}", fmt::join(value, ","));
  } else {
    text += fmt::format(" {}", value);
  }
}

template <typename Kind>
void append_options(std::string& text, const Kind& kind) {
  if constexpr (requires { Kind::name; }) text += Kind::name;
  if constexpr (requires { Kind::keys(); }) {
    std::apply([&](const auto&... key) { (append(text, kind.*(key.field)), ...); }, Kind::keys());
  }
  if constexpr (requires { kind.input_major; }) append(text, kind.input_major);
}

}  // namespace

SegmentCost estimate_segment(const Graph& segment, const TrainingSizes& sizes) {
  const std::vector<bool> replaced = replaced_nodes(segment);
  const std::vector<bool> trained = trained_nodes(segment);
  const double each = element_bytes(sizes.precision) * static_cast<double>(sizes.batch);
  SegmentCost cost;
  double kept = 0;
  double largest = 0;
  for (int n = 0; n < std::ssize(segment.nodes); ++n) {
    const Node& node = segment.nodes[at(n)];
    const double output = each * static_cast<double>(elements_of(node.shape));
    largest = std::max(largest, output);
    if (!replaced[at(n)]) kept += output;
    if (n == 0 || replaced[at(n)]) continue;
    double passes = 1;  // forward, and each gradient that the backward pass computes
    double bytes = output;
    for (const int input : node.inputs) {
      bytes += each * static_cast<double>(elements_of(segment.nodes[at(input)].shape));
      if (trained[at(input)]) passes += 1;
    }
    for (const int parameter : node.parameters) {
      const Parameter& weight = segment.parameters[at(parameter)];
      const double weights = 4 * static_cast<double>(elements_of(weight.shape));
      bytes += weights;
      if (!weight.frozen && sizes.accumulates) kept += weights;
      if (parameter == node.parameters.front() && !weight.frozen) passes += 1;
    }
    cost.seconds +=
        passes * std::max(sizes.batch * operations(segment, node) / operations_per_second,
                          bytes / bytes_per_second);
  }
  for (const Parameter& parameter : segment.parameters) {
    cost.held_bytes += held_bytes(parameter, sizes);
  }
  cost.activation_bytes = static_cast<std::int64_t>(kept + 2 * largest);
  if (segment.joints.output) {
    cost.crossing_bytes = elements_of(segment.nodes.back().shape) * sizes.batch *
                          static_cast<std::int64_t>(sizeof(float));
  }
  return cost;
}

std::vector<SharedBytes> shared_bytes(std::span<const Graph> segments, const TrainingSizes& sizes) {
  std::map<std::string, SharedBytes> by_name;
  for (int s = 0; s < std::ssize(segments); ++s) {
    for (const Parameter& parameter : segments[at(s)].parameters) {
      SharedBytes& shared = by_name[parameter.name];
      shared.segments.push_back(s);
      shared.bytes = held_bytes(parameter, sizes);
    }
  }
  std::vector<SharedBytes> several;
  for (auto& [name, shared] : by_name) {
    if (shared.segments.size() > 1) several.push_back(std::move(shared));
  }
  return several;
}

std::string shape_of(const Graph& segment) {
  std::string text = fmt::format("joints {} {}\n", segment.joints.input, segment.joints.output);
  if (!segment.joints.output) text += segment.loss.name + "\n";
  for (const Node& node : segment.nodes) {
    std::visit([&](const auto& kind) { append_options(text, kind); }, node.op);
    text += fmt::format(" <- {} {}", fmt::join(node.inputs, ","), to_string(node.shape));
    for (const int parameter : node.parameters) {
      const Parameter& weight = segment.parameters[at(parameter)];
      text += fmt::format(" {}{}{}", parameter, to_string(weight.shape),
                          weight.frozen ? " frozen" : "");
    }
    text += '\n';
  }
  return text;
}

}  // namespace dllaunch
