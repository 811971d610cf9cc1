// The arrays of a node for one pass, as the layers expect them.
#pragma once

#include "support/position.hpp"
#include "trainer/backends/gpu/kernels/layer_kernels.hpp"
#include "trainer/backends/gpu/layers/activations.hpp"
#include "trainer/backends/gpu/layers/library_layers.hpp"
#include "trainer/backends/gpu/layers/norm_layers.hpp"
#include "trainer/backends/gpu/layers/token_layers.hpp"
#include "trainer/backends/gpu/layers/weight_copies.hpp"
#include "trainer/backends/gpu/memory/parameter_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

/// Leaves the stream, and what to add to, to the caller. What it refers to must outlive it.
template <typename T>
class NodeArrays {
 public:
  NodeArrays(const Graph& graph, const StepPlan& plan, const Activations& activations,
             const ParameterMemory& parameters, const WeightCopies& weights)
      : graph_(graph),
        plan_(plan),
        activations_(activations),
        parameters_(parameters),
        weights_(weights) {}

  T* value(int n) const { return activations_.template value<T>(n); }
  /// nullptr: not needed.
  T* grad(int n) const { return activations_.template grad<T>(n); }
  const Volume& shape(int n) const { return plan_.nodes[at(n)].shape; }
  int input(std::size_t n, std::size_t i = 0) const { return graph_.nodes[n].inputs[i]; }

  View<T> view(std::size_t n) const {
    const int x = input(n);
    const int y = static_cast<int>(n);
    return {.in = shape(x),
            .out = shape(y),
            .x = value(x),
            .y = value(y),
            .dy = grad(y),
            .dx = grad(x),
            .argmax = activations_.argmax(n)};
  }
  TokenPass<T> token_pass(std::size_t n, const View<T>& view) const;
  LibraryPass<T> library_pass(std::size_t n) const;
  NormPass<T> norm_pass(std::size_t n) const;
  /// With the arrays of the backward pass.
  NormPass<T> norm_backward(std::size_t n) const;

 private:
  /// nullptr: frozen.
  float* gradient(int parameter) const {
    return graph_.parameters[at(parameter)].frozen ? nullptr : parameters_.gradient(parameter);
  }

  const Graph& graph_;
  const StepPlan& plan_;
  const Activations& activations_;
  const ParameterMemory& parameters_;
  const WeightCopies& weights_;
};

template <typename T>
TokenPass<T> NodeArrays<T>::token_pass(std::size_t n, const View<T>& view) const {
  const std::vector<int>& parameters = graph_.nodes[n].parameters;
  TokenPass<T> pass{.at = view};
  pass.weight = parameters_.weight(parameters[0]);
  pass.dweight = gradient(parameters[0]);
  if (parameters.size() < 2) return pass;
  pass.bias = parameters_.weight(parameters[1]);
  pass.dbias = gradient(parameters[1]);
  return pass;
}

template <typename T>
LibraryPass<T> NodeArrays<T>::library_pass(std::size_t n) const {
  const int x = input(n);
  const int y = static_cast<int>(n);
  const int parameter = graph_.nodes[n].parameters[0];
  return {.x = value(x),
          .weight = weights_.template of<T>(parameter),
          .y = value(y),
          .dy = grad(y),
          .dx = grad(x),
          .dweight = gradient(parameter)};
}

template <typename T>
NormPass<T> NodeArrays<T>::norm_pass(std::size_t n) const {
  const NodePlan& plan = plan_.nodes[n];
  const Node& norm = graph_.nodes[at(plan.norm)];
  return {.node = plan.norm,
          .shape = plan.shape,
          .x = value(norm.inputs.front()),
          .other = plan.other >= 0 ? value(plan.other) : nullptr,
          .y = value(static_cast<int>(n)),
          .relu = plan.relu,
          .weight = parameters_.weight(norm.parameters[0]),
          .bias = parameters_.weight(norm.parameters[1])};
}

template <typename T>
NormPass<T> NodeArrays<T>::norm_backward(std::size_t n) const {
  const NodePlan& plan = plan_.nodes[n];
  const Node& norm = graph_.nodes[at(plan.norm)];
  NormPass<T> pass = norm_pass(n);
  pass.dy = grad(static_cast<int>(n));
  pass.dx = grad(norm.inputs.front());
  if (plan.other >= 0) pass.dother = grad(plan.other);
  pass.dweight = gradient(norm.parameters[0]);
  pass.dbias = gradient(norm.parameters[1]);
  return pass;
}

}  // namespace dllaunch::gpu
