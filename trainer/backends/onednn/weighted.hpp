// Common base of convolutions and dense layers: three primitives with one weight and one bias.
#pragma once

#include <utility>

#include "trainer/backends/onednn/layers.hpp"

namespace dllaunch::onednn {

/// Forward, Gradient and BackwardData are oneDNN primitives of one kind. The derived class creates
/// their descriptors for a given input, leaving all layouts to oneDNN.
template <typename Forward, typename Gradient, typename BackwardData>
class Weighted : public Layer {
 public:
  Weighted(Node node, FusionContext context) : node_(std::move(node)), context_(context) {}

  dnnl::memory compile_forward(Program& program, std::vector<Step>& steps,
                               const Memories& xs) final {
    const dnnl::memory& x = xs[0];
    describe_primitives(program, x.get_desc());
    const BoundParameter& weight = node_.shares
                                       ? parameter(program, 0)
                                       : program.bind_parameter(node_.parameters[0], plain_weight(),
                                                                gradient_desc_.diff_weights_desc());
    x_ = program.reorder_to(steps, node_.name + " x", x, forward_desc_.src_desc());
    weight_ = program.reorder_to(steps, node_.name + " weight", weight.weight,
                                 forward_desc_.weights_desc());
    dnnl::memory y = context_.keeps_y ? program.allocate_persistent(forward_desc_.dst_desc())
                                      : program.allocate(forward_desc_.dst_desc());
    Arguments arguments{{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, weight_}, {DNNL_ARG_DST, y}};
    if (has_bias()) {
      const auto plain = plain_layout({weight_dims_[0]});
      arguments.insert(
          {DNNL_ARG_BIAS, program.bind_parameter(node_.parameters[1], plain, plain).weight});
    }
    program.add(steps, node_.name + " forward", forward_desc_, Forward(forward_desc_),
                std::move(arguments));
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) final {
    auto& first = steps.parameters;
    const auto dy = program.sum(first, node_.name + " dy", dys);
    if (context_.frozen) {
      return {context_.wants_dx ? compile_backward_data(program, steps.input, dy) : dy};
    }
    const auto x = program.reorder_to(first, node_.name + " x", program.recompute(first, x_),
                                      gradient_desc_.src_desc());
    const auto diff_dst =
        program.reorder_to(first, node_.name + " dy", dy, gradient_desc_.diff_dst_desc());
    Arguments arguments{{DNNL_ARG_SRC, x},
                        {DNNL_ARG_DIFF_DST, diff_dst},
                        {DNNL_ARG_DIFF_WEIGHTS, parameter(program, 0).gradient}};
    if (has_bias()) arguments.insert({DNNL_ARG_DIFF_BIAS, parameter(program, 1).gradient});
    program.add(first, node_.name + " backward weights", gradient_desc_, Gradient(gradient_desc_),
                std::move(arguments));
    return {context_.wants_dx ? compile_backward_data(program, steps.input, diff_dst) : dy};
  }

 protected:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  /// Fills weight_dims_ and the primitive descriptors; backward_desc_ only if wants_dx.
  virtual void describe_primitives(const Program& program, const dnnl::memory::desc& x) = 0;

  /// Returns the weight's layout in a checkpoint.
  virtual dnnl::memory::desc plain_weight() const { return plain_layout(weight_dims_); }

  /// Returns the data type of y.
  dnnl::memory::data_type output_type(const Program& program) const {
    return context_.gives_logits ? dnnl::memory::data_type::f32 : program.numerics().type;
  }

  bool has_bias() const { return node_.parameters.size() == 2; }

  /// Whether one of the primitives fell back to oneDNN's unvectorised reference code.
  bool is_slow() const {
    return is_reference(forward_desc_.impl_info_str()) ||
           is_reference(gradient_desc_.impl_info_str()) ||
           (context_.wants_dx && is_reference(backward_desc_.impl_info_str()));
  }

  Node node_;
  FusionContext context_;
  dnnl::memory::dims weight_dims_;
  typename Forward::primitive_desc forward_desc_;
  typename Gradient::primitive_desc gradient_desc_;
  typename BackwardData::primitive_desc backward_desc_;

 private:
  dnnl::memory compile_backward_data(Program& program, std::vector<Step>& steps,
                                     const dnnl::memory& dy) {
    const auto diff_dst =
        program.reorder_to(steps, node_.name + " dy", dy, backward_desc_.diff_dst_desc());
    // The forward pass may already have reordered the weights to this layout.
    const auto layout = backward_desc_.weights_desc();
    const auto& nearest = weight_.get_desc() == layout ? weight_ : parameter(program, 0).weight;
    const auto weight = program.reorder_to(steps, node_.name + " weight", nearest, layout);
    auto dx = program.allocate(backward_desc_.diff_src_desc());
    program.add(
        steps, node_.name + " backward data", backward_desc_, BackwardData(backward_desc_),
        {{DNNL_ARG_DIFF_DST, diff_dst}, {DNNL_ARG_WEIGHTS, weight}, {DNNL_ARG_DIFF_SRC, dx}});
    return dx;
  }

  static bool is_reference(const std::string& implementation) {
    return implementation.rfind("ref", 0) == 0;
  }

  const BoundParameter& parameter(Program& program, std::size_t which) const {
    return program.parameters()[static_cast<std::size_t>(node_.parameters[which])];
  }

  dnnl::memory x_;       // as the forward primitive reads it
  dnnl::memory weight_;  // as the forward primitive reads it
};

}  // namespace dllaunch::onednn
