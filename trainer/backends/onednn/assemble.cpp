#include "trainer/backends/onednn/assemble.hpp"

#include <algorithm>
#include <utility>

#include "trainer/backends/onednn/layers.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

bool has_weight(const Node& node) {
  return !node.parameters.empty();
}

bool is_activation(const Node& node) {
  return std::holds_alternative<Relu>(node.op) || std::holds_alternative<Tanh>(node.op);
}

/// A max pool takes over the backward pass of the ReLU it reads.
bool masks(const Node& pool, const Node& relu) {
  return std::holds_alternative<MaxPool2d>(pool.op) && std::holds_alternative<Relu>(relu.op);
}

/// Holds for chains, which graphs are until an operation reads two nodes.
Surroundings surroundings_of(const Graph& graph, std::size_t n) {
  const Node& node = graph.nodes[n];
  const Node& previous = graph.nodes[n - 1];
  Surroundings around;
  around.wants_dx =
      std::any_of(graph.nodes.begin(), graph.nodes.begin() + static_cast<int>(n), has_weight);
  around.done_by_neighbour = is_activation(node) && has_weight(previous);
  around.relu_precedes = masks(node, previous);
  if (n + 1 == graph.nodes.size()) return around;
  const Node& next = graph.nodes[n + 1];
  around.activation_follows = has_weight(node) && is_activation(next);
  around.next = next.op;
  around.masked_by_pool = masks(next, node);
  return around;
}

/// Null for a flatten: its reader takes the image as it lies.
std::unique_ptr<Layer> make_layer(const Node& node, const Surroundings& around) {
  if (std::holds_alternative<Conv2d>(node.op)) return make_convolution(node, around);
  if (std::holds_alternative<Dense>(node.op)) return make_dense(node, around);
  if (std::holds_alternative<MaxPool2d>(node.op)) return make_max_pool(node, around);
  if (std::holds_alternative<AvgPool2d>(node.op)) return make_avg_pool(node, around);
  if (is_activation(node)) return make_activation(node, around);
  return nullptr;
}

/// The last node's output as the loss reads it, and the slope in the output's extents.
void add_logits(Assembled& assembled, Program& program, const memory& y) {
  // A flattened image at the end of the graph is [n,c,h,w] here; plain, that is [n,c*h*w].
  const memory::desc plain = plain_layout(y.get_desc().dims());
  assembled.logits = program.in_layout(assembled.forward, "logits", y, plain);
  assembled.slope = program.allocate(plain);
}

}  // namespace

Assembled assemble(const Graph& graph, int batch, Program& program) {
  memory::dims input_dims{batch};
  input_dims.insert(input_dims.end(), graph.input_shape().begin(), graph.input_shape().end());

  Assembled assembled;
  assembled.input = program.allocate(plain_layout(input_dims));
  std::vector<std::unique_ptr<Layer>> layers(graph.nodes.size());
  memory y = assembled.input;
  for (std::size_t n = 1; n < graph.nodes.size(); ++n) {
    layers[n] = make_layer(graph.nodes[n], surroundings_of(graph, n));
    if (layers[n]) y = layers[n]->compile_forward(program, assembled.forward, y);
  }
  add_logits(assembled, program, y);

  int slot = 0;
  memory dy = assembled.slope;
  for (std::size_t n = graph.nodes.size() - 1; n > 0; --n) {
    if (!layers[n]) continue;
    BackwardOfNode steps;
    dy = layers[n]->compile_backward(program, steps, dy);
    for (const int parameter : graph.nodes[n].parameters) {
      steps.slots.push_back({.slot = slot++, .parameter = parameter});
    }
    if (!steps.parameters.empty() || !steps.input.empty()) {
      assembled.backward.push_back(std::move(steps));
    }
  }
  program.allocate_scratchpad();
  return assembled;
}

}  // namespace dllaunch::onednn
