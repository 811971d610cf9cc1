#include "trainer/backends/onednn/layers.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

class GeluLayer final : public Layer {
 public:
  GeluLayer(const Node& node, FusionContext context)
      : name_(node.name), context_(context), kind_(kind_of(std::get<Gelu>(node.op))) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    x_ = xs[0];
    const memory y = add_forward(program, steps);
    // x is kept for its own gradient, so y need not be.
    program.offer_recompute(y, [this, &program](auto& more) { return add_forward(program, more); });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory::desc layout = x_.get_desc();
    const memory dy = program.sum(steps.input, name_ + " dy", dys, layout);
    const memory dx = program.is_shared(dy) ? program.allocate(layout) : dy;
    const auto desc =
        describe_activation_backward(program.engine(), user_scratchpad(), kind_, layout);
    program.add(steps.input, name_ + " backward", desc, dnnl::eltwise_backward(desc),
                {{DNNL_ARG_SRC, program.recompute(steps.input, x_)},
                 {DNNL_ARG_DIFF_DST, dy},
                 {DNNL_ARG_DIFF_SRC, dx}});
    return {dx};
  }

 private:
  static ActivationKind kind_of(const Gelu& op) {
    const auto algorithm =
        op.exact ? dnnl::algorithm::eltwise_gelu_erf : dnnl::algorithm::eltwise_gelu_tanh;
    return {algorithm, algorithm};
  }

  memory add_forward(Program& program, std::vector<Step>& steps) {
    const auto desc = describe_activation(program.engine(), user_scratchpad(), kind_.forward, kind_,
                                          x_.get_desc());
    memory y = program.allocate(x_.get_desc());
    program.add(steps, name_ + " forward", desc, dnnl::eltwise_forward(desc),
                {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DST, y}});
    return y;
  }

  std::string name_;
  FusionContext context_;
  ActivationKind kind_;
  memory x_;
};

}  // namespace

std::unique_ptr<Layer> make_gelu(const Node& node, const FusionContext& context) {
  return std::make_unique<GeluLayer>(node, context);
}

}  // namespace dllaunch::onednn
