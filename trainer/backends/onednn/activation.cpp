#include <cassert>
#include <utility>

#include "trainer/backends/onednn/layers.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::algorithm;
using dnnl::eltwise_backward;
using dnnl::eltwise_forward;
using dnnl::memory;

/// Uses the variants whose backward pass reads y instead of x, so that x need not be kept.
ActivationKind kind_of(const Relu&) {
  return {algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd};
}
ActivationKind kind_of(const Tanh&) {
  return {algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd};
}

class Activation final : public Layer {
 public:
  Activation(const Node& node, const FusionContext& context) : node_(node), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const memory& x = xs[0];
    if (context_.forward_fused) return y_ = x;
    const ActivationKind kind = activation_kind(node_.op);
    const auto desc =
        describe_activation(program.engine(), user_scratchpad(), kind.forward, kind, x.get_desc());
    y_ = program.allocate(x.get_desc());
    program.add(steps, node_.name + " forward", desc, eltwise_forward(desc),
                {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y_}});
    return y_;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory dy = program.sum(steps.input, node_.name + " dy", dys);
    if (context_.backward_fused) return {dy};
    return {add_activation_backward(program, steps.input, node_.name, node_.op, y_, dy)};
  }

 private:
  Node node_;
  FusionContext context_;
  memory y_;
};

}  // namespace

ActivationKind activation_kind(const Operation& op) {
  return std::visit(
      []<typename Kind>(const Kind& kind) -> ActivationKind {
        if constexpr (Kind::traits.activation) {
          return kind_of(kind);
        } else {
          assert(!"an activation");
          return {};
        }
      },
      op);
}

dnnl::primitive_attr with_activation(const FusionContext& context) {
  dnnl::primitive_attr attributes = user_scratchpad();
  if (context.fuses_activation) {
    dnnl::post_ops after;
    const ActivationKind kind = activation_kind(context.activation);
    append_activation(after, kind);
    attributes.set_post_ops(after);
  }
  return attributes;
}

memory add_activation_backward(Program& program, std::vector<Step>& steps, const std::string& name,
                               const Operation& op, const memory& y, const memory& dy) {
  // oneDNN vectorises this only if y and dy have the same layout.
  const memory::desc layout = y.get_desc();
  const memory from = program.reorder_to(steps, name + " dy", dy, layout);
  memory dx = program.is_shared(from) ? program.allocate(layout) : from;
  const ActivationKind kind = activation_kind(op);
  const auto desc = describe_activation_backward(program.engine(), user_scratchpad(), kind, layout);
  program.add(steps, name + " backward", desc, eltwise_backward(desc),
              {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_DIFF_SRC, dx}});
  return dx;
}

std::unique_ptr<Layer> make_activation(const Node& node, const FusionContext& context) {
  return std::make_unique<Activation>(node, context);
}

}  // namespace dllaunch::onednn
