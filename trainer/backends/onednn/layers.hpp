// The operations of a graph as oneDNN runs them. Each appends its steps to a program.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "trainer/backends/onednn/program.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::onednn {

/// What its neighbours let an operation do.
struct FusionContext {
  bool fuses_activation = false;     // run the reader's activation in my forward primitive
  Operation activation;              // that activation
  bool fuses_relu_backward = false;  // of max pooling: apply the ReLU's backward pass as well
  bool forward_fused = false;        // of an activation: its producer runs its forward pass
  bool backward_fused = false;       // of a ReLU: the max pooling that reads it runs its backward
  bool wants_dx = true;              // false: nobody reads the gradient of the input
  bool gives_logits = false;         // the last node: the loss reads f32
};

using Memories = std::vector<dnnl::memory>;

/// One node, or a few that are run as one. Construct, then compile_forward() in graph order, then
/// compile_backward() in reverse.
class Layer {
 public:
  virtual ~Layer() = default;

  /// xs: one memory [batch, ...] for each input, in any layout. Returns y in the layout this layer
  /// likes to write.
  virtual dnnl::memory compile_forward(Program& program, std::vector<Step>& steps,
                                       const Memories& xs) = 0;

  /// dys: the gradients that the readers of y have brought, at least one, in any layout; their sum
  /// is dy. What is not shared may be overwritten. Returns dx for each input, which nobody reads
  /// where that input needs no gradient.
  virtual Memories compile_backward(Program& program, BackwardOfNode& steps,
                                    const Memories& dys) = 0;
};

/// A batch normalisation, and what is run with it: the addition of another node's output, a ReLU.
struct NormGroup {
  Node norm;
  bool add = false;   // the second input is added
  bool relu = false;  // and what is below 0 becomes 0
  std::string name;   // of all of it
};

std::unique_ptr<Layer> make_convolution(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_dense(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_max_pool(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_avg_pool(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_global_avg_pool(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_activation(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_norm(NormGroup group, const FusionContext& context);
std::unique_ptr<Layer> make_dropout(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_add(const Node& node);
std::unique_ptr<Layer> make_zero_pad(const Node& node, const FusionContext& context);
/// Where the reader does not take an image for a vector.
std::unique_ptr<Layer> make_flatten(const Node& node);
/// A layer that gives images, and a flatten after it; both are `node`.
std::unique_ptr<Layer> make_flattened(std::unique_ptr<Layer> layer, const Node& node);

/// oneDNN's names of an activation.
struct ActivationKind {
  dnnl::algorithm forward;
  dnnl::algorithm backward;
  float alpha = 0;  // constants of the algorithm, where it has any
  float beta = 0;
};
ActivationKind activation_kind(const Operation& op);

/// Attributes of a convolution or dense layer: user scratchpad, and the activation that follows.
dnnl::primitive_attr with_activation(const FusionContext& context);

/// Appends the backward pass of an activation: dx may be dy's own memory.
dnnl::memory add_activation_backward(Program& program, std::vector<Step>& steps,
                                     const std::string& name, const Operation& op,
                                     const dnnl::memory& y, const dnnl::memory& dy);

}  // namespace dllaunch::onednn
