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
  // Of a sequence n is all tokens of the batch.
  void describe_primitives(const Program& program, const memory::desc& x_layout) override {
    weight_dims_ = dims_of(x_layout);
    weight_dims_[0] = node_.shape.back();
    const memory::desc any = any_layout(dims_of(x_layout), program.numerics().type);
    // Read an image in its producer's layout if oneDNN has fast code for that: saves two reorders.
    const bool image = weight_dims_.size() > 2 && type_of(x_layout) == type_of(any);
    describe_for(program, image ? x_layout : any);
    if (image && is_slow()) describe_for(program, any);
  }

  void describe_for(const Program& program, const memory::desc& x) {
    const dnnl::engine& engine = program.engine();
    const memory::data_type type = program.numerics().type;
    const memory::dims y_dims{dims_of(x)[0], node_.shape.back()};
    const auto w = any_layout(weight_dims_, type);
    const auto dw = node_.shares ? plain_layout(weight_dims_) : any_layout(weight_dims_);
    const auto b = has_bias() ? plain_layout({node_.shape.back()}) : memory::desc();
    const auto y =
        context_.keeps_y ? plain_layout(y_dims) : any_layout(y_dims, output_type(program));
    const auto dy = any_layout(y_dims, type);
    forward_desc_ = describe_forward<inner_product_forward>(
        engine, with_activation(context_), dnnl::prop_kind::forward_training, x, w, b, y);
    gradient_desc_ = describe_backward<inner_product_backward_weights>(engine, user_scratchpad(),
                                                                       forward_desc_, x, dw, b, dy);
    if (!context_.wants_dx) return;
    backward_desc_ = describe_backward<inner_product_backward_data>(engine, user_scratchpad(),
                                                                    forward_desc_, x, w, dy);
  }

  memory::desc plain_weight() const override {
    if (!std::get<Dense>(node_.op).input_major) return plain_layout(weight_dims_);
    return {weight_dims_, memory::data_type::f32, memory::dims{1, weight_dims_[0]}};
  }
};

}  // namespace

std::unique_ptr<Layer> make_dense(const Node& node, const FusionContext& context) {
  return std::make_unique<DenseLayer>(node, context);
}

}  // namespace dllaunch::onednn
