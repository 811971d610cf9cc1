#include "trainer/backends/gpu/heavy_layers.hpp"

#include <algorithm>
#include <utility>

namespace dllaunch::gpu {
namespace {

std::size_t index(int node) {
  return static_cast<std::size_t>(node);
}

}  // namespace

std::optional<Error> HeavyLayers::make(MathLibrary& library, const Graph& graph,
                                       const StepPlan& plan, const Numerics& numerics) {
  layers_.resize(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Operation& op = graph.nodes[n].op;
    std::optional<Error> error;
    if (std::holds_alternative<Conv2d>(op) || std::holds_alternative<Conv3d>(op)) {
      error = make_convolution(library, graph, plan, numerics, n);
    } else if (std::holds_alternative<Dense>(op)) {
      error = make_products(library, graph, plan, numerics, n);
    }
    if (error) return std::move(*error).within(graph.nodes[n].name);
  }
  return std::nullopt;
}

std::optional<Error> HeavyLayers::make_convolution(MathLibrary& library, const Graph& graph,
                                                   const StepPlan& plan, const Numerics& numerics,
                                                   std::size_t n) {
  const Node& node = graph.nodes[n];
  const NodePlan& input = plan.nodes[index(node.inputs.front())];
  const Parameter& weight = graph.parameters[index(node.parameters.front())];
  auto made = library.convolution({.type = numerics.type,
                                   .tf32 = numerics.tf32,
                                   .x = input.shape,
                                   .y = plan.nodes[n].shape,
                                   .window = window_of(node.op),
                                   .backward_data = input.trains,
                                   .backward_weights = !weight.frozen});
  if (!made) return std::move(made).error();
  workspace_ = std::max(workspace_, (*made)->workspace());
  weights_ = std::max(weights_, static_cast<std::size_t>(elements_of(weight.shape)));
  inputs_ = std::max(inputs_, static_cast<std::size_t>(input.shape.elements()));
  layers_[n].convolution = *std::move(made);
  return std::nullopt;
}

std::optional<Error> HeavyLayers::make_products(MathLibrary& library, const Graph& graph,
                                                const StepPlan& plan, const Numerics& numerics,
                                                std::size_t n) {
  const Volume& x = plan.nodes[index(graph.nodes[n].inputs.front())].shape;
  const std::int64_t units = plan.nodes[n].shape.channels;
  const auto [type, tf32] = numerics;
  // Gradients of weights go into the arena, which is of float.
  const std::pair<ProductShape, std::unique_ptr<Product>*> wanted[] = {
      {{x.rows, units, x.channels, false, true, type, type, tf32}, &layers_[n].forward},
      {{x.rows, x.channels, units, false, false, type, type, tf32}, &layers_[n].backward_data},
      {{units, x.channels, x.rows, true, false, type, DType::f32, tf32},
       &layers_[n].backward_weights}};
  for (const auto& [shape, product] : wanted) {
    auto made = library.product(shape);
    if (!made) return std::move(made).error();
    workspace_ = std::max(workspace_, (*made)->workspace());
    *product = *std::move(made);
  }
  return std::nullopt;
}

}  // namespace dllaunch::gpu
