#include <utility>

#include "trainer/backends/onednn/layers.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;
using dnnl::pooling_backward;
using dnnl::pooling_forward;

/// Max and average pooling. y has the layout of x, so a chain of blocked layers stays blocked.
class Pooling final : public Layer {
 public:
  Pooling(const Node& node, const FusionContext& context, const PoolingWindow& window)
      : node_(node), context_(context), window_(window) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const memory& x = xs[0];
    const memory::dims x_dims = dims_of(x.get_desc());
    memory::dims y_dims{x_dims[0]};
    y_dims.insert(y_dims.end(), node_.shape.begin(), node_.shape.end());
    y_dims.resize(x_dims.size(), 1);  // a global pooling leaves one pixel
    x_layout_ = x.get_desc();
    if (window_.kernel.empty()) {
      window_.kernel = window_.stride = memory::dims(x_dims.begin() + 2, x_dims.end());
      window_.padding.assign(window_.kernel.size(), 0);
    }
    forward_ = describe_pooling(program.engine(), user_scratchpad(), window_, x_layout_,
                                any_layout(y_dims, type_of(x_layout_)));
    y_ = program.allocate(forward_.dst_desc());
    workspace_ = program.allocate(forward_.workspace_desc());
    program.add(steps, node_.name + " forward", forward_, pooling_forward(forward_),
                {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y_}, {DNNL_ARG_WORKSPACE, workspace_}});
    return y_;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory dy = program.sum(steps.input, node_.name + " dy", dys);
    memory from = dy;
    if (context_.fuses_relu_backward) {
      // The largest input is positive exactly where the output is, so it is enough to mask the
      // outputs' gradients, which are fewer.
      from = add_activation_backward(program, steps.input, node_.name + " relu", Relu{}, y_, dy);
    }
    from = program.reorder_to(steps.input, node_.name + " dy", from, y_.get_desc());
    const auto backward = describe_pooling_backward(program.engine(), user_scratchpad(), forward_,
                                                    window_, x_layout_, y_.get_desc());
    memory dx = program.allocate(x_layout_);
    program.add(
        steps.input, node_.name + " backward", backward, pooling_backward(backward),
        {{DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_DIFF_SRC, dx}, {DNNL_ARG_WORKSPACE, workspace_}});
    return {dx};
  }

 private:
  Node node_;
  FusionContext context_;
  PoolingWindow window_;
  memory::desc x_layout_;
  pooling_forward::primitive_desc forward_;
  memory y_;
  memory workspace_;  // max pooling: argmax of each window
};

}  // namespace

std::unique_ptr<Layer> make_max_pool(const Node& node, const FusionContext& context) {
  if (const auto* deep = std::get_if<MaxPool3d>(&node.op)) {
    return std::make_unique<Pooling>(
        node, context,
        PoolingWindow{.algorithm = dnnl::algorithm::pooling_max,
                      .kernel = {deep->kernel.begin(), deep->kernel.end()},
                      .stride = {deep->stride.begin(), deep->stride.end()},
                      .padding = {0, 0, 0}});
  }
  const auto& op = std::get<MaxPool2d>(node.op);
  return std::make_unique<Pooling>(node, context,
                                   PoolingWindow{.algorithm = dnnl::algorithm::pooling_max,
                                                 .kernel = {op.kernel, op.kernel},
                                                 .stride = {op.stride, op.stride},
                                                 .padding = {op.padding, op.padding}});
}

std::unique_ptr<Layer> make_avg_pool(const Node& node, const FusionContext& context) {
  const auto& op = std::get<AvgPool2d>(node.op);
  return std::make_unique<Pooling>(
      node, context,
      PoolingWindow{.algorithm = dnnl::algorithm::pooling_avg_exclude_padding,
                    .kernel = {op.kernel, op.kernel},
                    .stride = {op.stride, op.stride},
                    .padding = {0, 0}});
}

std::unique_ptr<Layer> make_global_avg_pool(const Node& node, const FusionContext& context) {
  return std::make_unique<Pooling>(
      node, context,
      PoolingWindow{.algorithm = dnnl::algorithm::pooling_avg_exclude_padding,
                    .kernel = {},
                    .stride = {},
                    .padding = {0, 0}});
}

}  // namespace dllaunch::onednn
