// The operations of a graph as oneDNN runs them. Each appends its steps to a program.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "trainer/backends/onednn/program.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::onednn {

/// Which passes a node fuses with its neighbours', and what its neighbours need.
struct FusionContext {
  bool fuses_activation = false;  // the forward primitive also applies the next node's activation
  Operation activation;           // of the next node
  bool fuses_relu_backward = false;  // max pooling: also runs the ReLU's backward pass
  bool forward_fused = false;        // activation: the previous node runs its forward pass
  bool backward_fused = false;       // ReLU: the next node, a max pooling, runs its backward pass
  bool wants_dx = true;              // whether the gradient of the input is needed
  bool frozen = false;               // it has no trained parameter
  bool gives_logits = false;         // the last node: writes f32 for the loss
  bool keeps_y = false;              // y is read and overwritten outside the program
};

using Memories = std::vector<dnnl::memory>;

/// One node, or several fused ones. A sequence [tokens, width] is a memory [batch * tokens, width].
/// compile_forward() is called in graph order, then
/// compile_backward() in reverse order.
class Layer {
 public:
  virtual ~Layer() = default;

  /// Returns y, in the layout this layer prefers to write. xs: one memory [batch, ...] per input,
  /// in any layout.
  virtual dnnl::memory compile_forward(Program& program, std::vector<Step>& steps,
                                       const Memories& xs) = 0;

  /// Returns dx of each input; unspecified if that input needs no gradient. dys: the gradients from
  /// the readers of y, at least one, in any layout; dy is their sum. Those not shared may be
  /// overwritten.
  virtual Memories compile_backward(Program& program, BackwardOfNode& steps,
                                    const Memories& dys) = 0;
};

/// A batch normalisation with the addition and ReLU fused into it.
struct NormGroup {
  Node norm;
  bool add = false;   // adds the second input
  bool relu = false;  // then applies a ReLU
  std::string name;   // of the group
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
/// Of a sequence, in f32.
std::unique_ptr<Layer> make_token_dense(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_embedding(const Node& node, bool is_shared);
std::unique_ptr<Layer> make_position_embedding(const Node& node);
std::unique_ptr<Layer> make_layer_norm(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_gelu(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_attention(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_to_sequence(const Node& node, const FusionContext& context);
std::unique_ptr<Layer> make_class_token(const Node& node, const FusionContext& context);
/// tokens: of an image's x.
std::unique_ptr<Layer> make_first_token(const Node& node, const FusionContext& context,
                                        std::int64_t tokens);
std::unique_ptr<Layer> make_zero_pad(const Node& node, const FusionContext& context);
/// For readers that do not accept an image as a vector.
/// rows: the rows of x that are one image.
std::unique_ptr<Layer> make_flatten(const Node& node, std::int64_t rows = 1);
/// A layer that writes images, followed by a flatten; both are `node`.
std::unique_ptr<Layer> make_flattened(std::unique_ptr<Layer> layer, const Node& node);

/// oneDNN's algorithms and constants for an activation.
struct ActivationKind {
  dnnl::algorithm forward;
  dnnl::algorithm backward;
  float alpha = 0;
  float beta = 0;
};
ActivationKind activation_kind(const Operation& op);

/// Returns a convolution's or dense layer's attributes: user scratchpad and the fused activation.
dnnl::primitive_attr with_activation(const FusionContext& context);

/// Appends the backward pass of an activation. Returns dx, which may be in place of dy.
dnnl::memory add_activation_backward(Program& program, std::vector<Step>& steps,
                                     const std::string& name, const Operation& op,
                                     const dnnl::memory& y, const dnnl::memory& dy);

}  // namespace dllaunch::onednn
