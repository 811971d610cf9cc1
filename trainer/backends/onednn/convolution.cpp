#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/weighted.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::memory;

/// The one place where the algorithm is chosen. Winograd would be faster and round coarser.
constexpr dnnl::algorithm convolution_algorithm = dnnl::algorithm::convolution_direct;

/// Along two axes or three.
struct Geometry {
  memory::dim channels = 0;
  memory::dims kernel;
  memory::dims strides;
  memory::dims padding;
};

Geometry geometry_of(const Operation& op) {
  if (const auto* flat = std::get_if<Conv2d>(&op)) {
    const auto both = [](int extent) { return memory::dims{extent, extent}; };
    return {flat->channels, both(flat->kernel), both(flat->stride), both(flat->padding)};
  }
  const auto& deep = std::get<Conv3d>(op);
  const auto all = [](const auto& extents) { return memory::dims(extents.begin(), extents.end()); };
  return {deep.channels, all(deep.kernel), all(deep.stride), all(deep.padding)};
}

memory::dims joined(memory::dims dims, const memory::dims& more) {
  dims.insert(dims.end(), more.begin(), more.end());
  return dims;
}

class ConvolutionLayer final : public Weighted<convolution_forward, convolution_backward_weights,
                                               convolution_backward_data> {
 public:
  using Weighted::Weighted;

 private:
  // x [n,c,h,w]   w [k,c,r,s]   y [n,k,i,j], or with a depth before the height
  void describe_primitives(const dnnl::engine& engine, const memory::desc& x_layout) override {
    const auto [channels, kernel, strides, padding] = geometry_of(node_.op);
    const memory::dims x_dims = x_layout.dims();
    weight_dims_ = joined({channels, x_dims[1]}, kernel);
    const auto x = any_layout(x_dims);
    const auto w = any_layout(weight_dims_);
    const auto b = has_bias() ? plain_layout({channels}) : memory::desc();
    const auto y = any_layout(joined({x_dims[0]}, node_.shape));
    forward_desc_ = {
        convolution_forward::desc(dnnl::prop_kind::forward_training, convolution_algorithm, x, w, b,
                                  y, strides, padding, padding),
        with_activation(around_), engine};
    gradient_desc_ = {convolution_backward_weights::desc(convolution_algorithm, x, w, b, y, strides,
                                                         padding, padding),
                      user_scratchpad(), engine, forward_desc_};
    if (!around_.wants_dx) return;
    backward_desc_ = {
        convolution_backward_data::desc(convolution_algorithm, x, w, y, strides, padding, padding),
        user_scratchpad(), engine, forward_desc_};
  }
};

}  // namespace

std::unique_ptr<Layer> make_convolution(const Node& node, const Surroundings& around) {
  return std::make_unique<ConvolutionLayer>(node, around);
}

}  // namespace dllaunch::onednn
