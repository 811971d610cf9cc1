#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/weighted.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::inner_product_backward_data;
using dnnl::inner_product_backward_weights;
using dnnl::inner_product_forward;
using dnnl::memory;

class DenseLayer final : public Weighted<inner_product_forward, inner_product_backward_weights,
                                         inner_product_backward_data> {
 public:
  using Weighted::Weighted;

 private:
  // x [n,f], or an image [n,c,h,w] to be flattened   w [u,f] or [u,c,h,w]   y [n,u]
  void describe_primitives(const Program& program, const memory::desc& x_layout) override {
    weight_dims_ = x_layout.dims();
    weight_dims_[0] = node_.shape[0];
    const memory::desc any = any_layout(x_layout.dims(), program.numerics().type);
    // Read an image in its producer's layout if oneDNN has fast code for that: saves two reorders.
    const bool image = weight_dims_.size() > 2 && x_layout.data_type() == any.data_type();
    describe_for(program, image ? x_layout : any);
    if (image && is_slow()) describe_for(program, any);
  }

  void describe_for(const Program& program, const memory::desc& x) {
    const dnnl::engine& engine = program.engine();
    const memory::data_type type = program.numerics().type;
    const memory::dims y_dims{x.dims()[0], node_.shape[0]};
    const auto w = any_layout(weight_dims_, type);
    const auto dw = any_layout(weight_dims_);
    const auto b = has_bias() ? plain_layout({node_.shape[0]}) : memory::desc();
    const auto y = any_layout(y_dims, output_type(program));
    const auto dy = any_layout(y_dims, type);
    forward_desc_ = {inner_product_forward::desc(dnnl::prop_kind::forward_training, x, w, b, y),
                     with_activation(context_), engine};
    gradient_desc_ = {inner_product_backward_weights::desc(x, dw, b, dy), user_scratchpad(), engine,
                      forward_desc_};
    if (!context_.wants_dx) return;
    backward_desc_ = {inner_product_backward_data::desc(x, w, dy), user_scratchpad(), engine,
                      forward_desc_};
  }
};

}  // namespace

std::unique_ptr<Layer> make_dense(const Node& node, const FusionContext& context) {
  return std::make_unique<DenseLayer>(node, context);
}

}  // namespace dllaunch::onednn
