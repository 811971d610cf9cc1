#include "trainer/backends/onednn/assemble.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "support/position.hpp"
#include "trainer/backends/fusion_plan.hpp"
#include "trainer/backends/onednn/layers.hpp"
#include "trainer/graph/readers.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

template <typename Op>
bool is(const Node& node) {
  return std::holds_alternative<Op>(node.op);
}

bool is_activation(const Node& node) {
  return traits_of(node.op).activation;
}

/// Whether the node's primitive can apply an activation to its output.
bool is_weighted(const Node& node) {
  return traits_of(node.op).weighted;
}

/// Queries about a graph's edges.
class Readers {
 public:
  explicit Readers(const Graph& graph)
      : graph_(graph), readers_(readers_of(graph)), trained_(trained_nodes(graph)) {}

  /// Whether node n or one before it has a trained parameter.
  bool wants_gradient(int n) const { return trained_[at(n)]; }

  /// Returns node n + 1 if it is the only reader of n, else nullptr.
  const Node* next(int n) const {
    return readers_[at(n)] == std::vector{n + 1} ? &graph_.nodes[at(n + 1)] : nullptr;
  }
  /// Returns node n - 1 if n is its only reader, else nullptr.
  const Node* previous(int n) const {
    const bool alone = n > 0 && readers_[at(n - 1)] == std::vector{n};
    return alone && graph_.nodes[at(n)].inputs.size() == 1 ? &graph_.nodes[at(n - 1)] : nullptr;
  }

  /// Whether a reader distinguishes an image, even of one pixel, from a vector. The loss does not.
  bool tells_flattened(int n) const {
    return std::ranges::any_of(readers_[at(n)], [this](int reader) {
      switch (traits_of(graph_.nodes[at(reader)].op).flattening) {
        case Flattening::seen:
          return true;
        case Flattening::passed_on:
          return tells_flattened(reader);
        case Flattening::unseen:
          break;
      }
      return false;
    });
  }

 private:
  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
  std::vector<bool> trained_;
};

/// A layer, and the nodes that it runs.
struct Placed {
  std::vector<int> nodes;        // in graph order
  std::vector<int> inputs;       // nodes
  std::unique_ptr<Layer> layer;  // nullptr: y is x

  int last() const { return nodes.back(); }
};

FusionContext fusion_context(const Graph& graph, const Readers& readers, int n) {
  const Node& node = graph.nodes[at(n)];
  FusionContext context;
  context.wants_dx = readers.wants_gradient(node.inputs.front());
  context.frozen = std::ranges::all_of(
      node.parameters, [&](int parameter) { return graph.parameters[at(parameter)].frozen; });
  context.gives_logits = at(n) + 1 == graph.nodes.size();
  context.keeps_y =
      context.gives_logits && !graph.joints.output && graph.labels() > 1 && is_weighted(node);
  const Node* previous = readers.previous(n);
  context.forward_fused = is_activation(node) && previous != nullptr && is_weighted(*previous);
  // A max pooling runs the backward pass of the ReLU it reads if it is the only reader.
  context.fuses_relu_backward = is<MaxPool2d>(node) && previous != nullptr && is<Relu>(*previous) &&
                                std::get<MaxPool2d>(node.op).padding == 0;
  const Node* next = readers.next(n);
  if (next == nullptr) return context;
  context.fuses_activation = is_weighted(node) && is_activation(*next);
  context.activation = next->op;
  context.backward_fused =
      is<Relu>(node) && is<MaxPool2d>(*next) && std::get<MaxPool2d>(next->op).padding == 0;
  return context;
}

/// A batch normalisation with the addition and the ReLU that follow it.
Placed place_norm(const Graph& graph, const Readers& readers, const FusedNorm& fused) {
  const Node& norm = graph.nodes[at(fused.norm)];
  Placed placed{.nodes = {fused.norm}, .inputs = norm.inputs, .layer = nullptr};
  if (fused.add >= 0) {
    placed.nodes.push_back(fused.add);
    placed.inputs.push_back(fused.other);
  }
  if (fused.relu >= 0) placed.nodes.push_back(fused.relu);
  placed.layer =
      make_norm({.norm = norm, .add = fused.add >= 0, .relu = fused.relu >= 0, .name = norm.name},
                fusion_context(graph, readers, fused.norm));
  return placed;
}

/// Returns the layer of node n; nullptr: y is x. A kind without a case does not compile.
struct LayerMaker {
  using Made = std::unique_ptr<Layer>;
  const Program& program;
  const Graph& graph;
  const Readers& readers;
  int n;
  const Node& node;
  FusionContext context;

  Made operator()(const Input&) const { return nullptr; }
  Made operator()(const BatchNorm&) const { return nullptr; }  // see place_norm()
  Made operator()(const Conv2d&) const { return make_convolution(node, context); }
  Made operator()(const Conv3d&) const { return make_convolution(node, context); }
  Made operator()(const Dense&) const {
    const bool single = program.numerics().type == memory::data_type::f32;
    return single && node.shape.size() == 2 ? make_token_dense(node, context)
                                            : make_dense(node, context);
  }
  Made operator()(const MaxPool2d&) const { return make_max_pool(node, context); }
  Made operator()(const MaxPool3d&) const { return make_max_pool(node, context); }
  Made operator()(const AvgPool2d&) const { return make_avg_pool(node, context); }
  Made operator()(const GlobalAvgPool&) const {
    Made pool = make_global_avg_pool(node, context);
    return readers.tells_flattened(n) ? make_flattened(std::move(pool), node) : std::move(pool);
  }
  Made operator()(const ZeroPad2d&) const { return make_zero_pad(node, context); }
  Made operator()(const Dropout&) const { return make_dropout(node, context); }
  Made operator()(const Add&) const { return make_add(node); }
  Made operator()(const Flatten&) const {
    const Shape& x = graph.nodes[at(node.inputs.front())].shape;
    if (x.size() == 2) return make_flatten(node, x[0]);
    // Most readers accept an image in its own layout.
    return readers.tells_flattened(n) ? make_flatten(node) : nullptr;
  }
  Made operator()(const Embedding&) const { return make_embedding(node, is_shared()); }
  Made operator()(const PositionEmbedding&) const { return make_position_embedding(node); }
  Made operator()(const LayerNorm&) const { return make_layer_norm(node, context); }
  Made operator()(const Gelu&) const { return make_gelu(node, context); }
  Made operator()(const Attention&) const { return make_attention(node, context); }
  Made operator()(const ToSequence&) const { return make_to_sequence(node, context); }
  Made operator()(const ClassToken&) const { return make_class_token(node, context); }
  Made operator()(const FirstToken&) const {
    return make_first_token(node, context, graph.nodes[at(node.inputs.front())].shape[0]);
  }
  template <typename Kind>
  requires(Kind::traits.activation) Made operator()(const Kind&) const {
    return make_activation(node, context);
  }

  /// Whether a later node reads its parameters.
  bool is_shared() const {
    return std::ranges::any_of(graph.nodes, [this](const Node& other) {
      return other.shares && other.parameters == node.parameters;
    });
  }
};

std::unique_ptr<Layer> make_layer(const Program& program, const Graph& graph,
                                  const Readers& readers, int n) {
  const Node& node = graph.nodes[at(n)];
  return std::visit(LayerMaker{program, graph, readers, n, node, fusion_context(graph, readers, n)},
                    node.op);
}

std::vector<Placed> place_layers(const Program& program, const Graph& graph,
                                 const Readers& readers) {
  const FusionPlan fusions = plan_fusions(graph);
  std::vector<Placed> all;
  for (int n = 1; n < static_cast<int>(graph.nodes.size()); ++n) {
    if (fusions.absorbed(n)) continue;
    const FusedNorm* fused = fusions.of(n);
    all.push_back(fused != nullptr ? place_norm(graph, readers, *fused)
                                   : Placed{.nodes = {n},
                                            .inputs = graph.nodes[at(n)].inputs,
                                            .layer = make_layer(program, graph, readers, n)});
  }
  return all;
}

/// Returns the layout in which most layers read a stage's input: blocked as this CPU's convolutions
/// are, in the type of activations.
memory::desc joint_layout(const memory::dims& dims, memory::data_type type) {
  using tag = memory::format_tag;
  if (dims.size() != 4) return plain_layout(dims, type);
  const bool wide = has_isa(dnnl::cpu_isa::avx512_core);
  if (dims[1] % (wide ? 16 : 8) != 0) return plain_layout(dims, type);
  return {dims, type, wide ? tag::nChw16c : tag::nChw8c};
}

/// Adds the logits as the loss reads them, and their gradients in the extents of the last output.
void add_logits(Assembled& assembled, Program& program, const memory& y, bool joined) {
  // A flattened image at the end of the graph is still [n,c,h,w] here, which in plain layout equals
  // [n,c*h*w].
  const memory::desc plain = plain_layout(dims_of(y.get_desc()));
  if (!joined && !program.is_planned(y) && y.get_desc() == plain) {
    assembled.logits = assembled.logit_grads = y;
    return;
  }
  assembled.logits = program.allocate_persistent(plain);
  assembled.logit_grads = program.allocate_persistent(plain);
  program.reorder(assembled.forward, "logits", y, assembled.logits);
}

class Assembler {
 public:
  Assembler(const Graph& graph, Program& program)
      : graph_(graph),
        program_(program),
        readers_(graph),
        layers_(place_layers(program, graph, readers_)) {}

  Assembled assemble(int batch) {
    memory::dims input_dims{batch};
    input_dims.insert(input_dims.end(), graph_.input_shape().begin(), graph_.input_shape().end());
    if (graph_.input_shape().size() == 2) {
      input_dims = {batch * graph_.input_shape()[0], graph_.input_shape()[1]};
    }
    assembled_.input = program_.allocate_persistent(plain_layout(input_dims));
    program_.bind_buffers(graph_);
    compile_forward();
    compile_backward();
    program_.allocate_planned();
    return std::move(assembled_);
  }

 private:
  void compile_forward() {
    std::vector<memory> ys(graph_.nodes.size());
    ys[0] = assembled_.input;
    if (graph_.joints.input) {
      ys[0] = program_.reorder_to(
          assembled_.forward, "input", assembled_.input,
          joint_layout(dims_of(assembled_.input.get_desc()), program_.numerics().type));
    }
    for (const Placed& placed : layers_) {
      Memories xs;
      for (const int input : placed.inputs) xs.push_back(ys[at(input)]);
      memory& y = ys[at(placed.last())];
      y = placed.layer ? placed.layer->compile_forward(program_, assembled_.forward, xs) : xs[0];
      assembled_.outputs.push_back(output_of(placed, y));
    }
    add_logits(assembled_, program_, ys.back(), graph_.joints.output);
    output_type_ = type_of(ys.back().get_desc());
  }

  NodeOutput output_of(const Placed& placed, const memory& y) const {
    NodeOutput output{assembled_.forward.size(), graph_.nodes[at(placed.last())].name, {}, y};
    for (const int n : placed.nodes) {
      const auto& parameters = graph_.nodes[at(n)].parameters;
      output.parameters.insert(output.parameters.end(), parameters.begin(), parameters.end());
    }
    return output;
  }

  void compile_backward() {
    std::vector<Memories> dys(graph_.nodes.size());
    dys.back() = {assembled_.logit_grads};
    if (graph_.joints.output) {
      BackwardOfNode received;
      const memory::desc layout =
          plain_layout(dims_of(assembled_.logit_grads.get_desc()), output_type_);
      dys.back() = {
          program_.reorder_to(received.input, "output dy", assembled_.logit_grads, layout)};
      if (!received.input.empty()) assembled_.backward.push_back(std::move(received));
    }
    int slot = 0;
    for (auto placed = layers_.rbegin(); placed != layers_.rend(); ++placed) {
      BackwardOfNode steps;
      if (readers_.wants_gradient(placed->last())) compile_backward(*placed, dys, steps);
      for (auto n = placed->nodes.rbegin(); n != placed->nodes.rend(); ++n) {
        const Node& node = graph_.nodes[at(*n)];
        std::ranges::copy_if(
            node.parameters, std::back_inserter(steps.gradients),
            [this](int parameter) { return !graph_.parameters[at(parameter)].frozen; });
        if (node.shares) continue;
        for (const int parameter : node.parameters) {
          steps.slots.push_back({.slot = slot++, .parameter = parameter});
        }
      }
      if (!steps.slots.empty() || !steps.parameters.empty() || !steps.input.empty()) {
        assembled_.backward.push_back(std::move(steps));
      }
    }
    if (graph_.joints.input) add_input_gradient(dys.front());
  }

  void add_input_gradient(const Memories& dxs) {
    BackwardOfNode sent;
    assembled_.input_grads = program_.allocate_persistent(assembled_.input.get_desc());
    program_.reorder(sent.input, "input dx", program_.sum(sent.input, "input dx", dxs),
                     assembled_.input_grads);
    assembled_.backward.push_back(std::move(sent));
  }

  /// Adds the gradients of its inputs to `dys`.
  void compile_backward(const Placed& placed, std::vector<Memories>& dys, BackwardOfNode& steps) {
    if (!placed.layer) {
      Memories& of_input = dys[at(placed.inputs[0])];
      of_input.insert(of_input.end(), dys[at(placed.last())].begin(), dys[at(placed.last())].end());
      return;
    }
    const Memories dxs = placed.layer->compile_backward(program_, steps, dys[at(placed.last())]);
    for (std::size_t i = 0; i < placed.inputs.size(); ++i) {
      const int input = placed.inputs[i];
      if (readers_.wants_gradient(input)) dys[at(input)].push_back(dxs[i]);
    }
  }

  const Graph& graph_;
  Program& program_;
  Readers readers_;
  std::vector<Placed> layers_;
  Assembled assembled_;
  memory::data_type output_type_ = memory::data_type::f32;
};

}  // namespace

Assembled assemble(const Graph& graph, int batch, Program& program) {
  return Assembler(graph, program).assemble(batch);
}

}  // namespace dllaunch::onednn
