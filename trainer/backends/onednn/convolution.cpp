#include <algorithm>

#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/weighted.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::memory;

/// oneDNN's Winograd works on tiles of 4x4 output pixels. It needs a quarter of the multiplications
/// but transforms x, w and y, so it pays only from these numbers of tiles in the batch and of input
/// and output channels (measured on Zen 5: docs/explanation/performance-cpu.md). A fixed rule, not
/// a measurement at start-up: all ranks and runs must choose the same.
constexpr memory::dim tile = 4;
constexpr memory::dim worthwhile_tiles = 32;
constexpr memory::dim worthwhile_channels = 32;

bool is_worth_winograd(const memory::dims& w, const memory::dims& y) {
  constexpr std::size_t axes = 4;  // oneDNN has no Winograd for volumes
  if (y.size() != axes) return false;
  const memory::dim tiles = y[0] * ((y[2] + tile - 1) / tile) * ((y[3] + tile - 1) / tile);
  return tiles >= worthwhile_tiles && std::min(w[0], w[1]) >= worthwhile_channels;
}

/// Returns a descriptor for Winograd, or for the direct algorithm if oneDNN has no Winograd for
/// this shape, type, post-op or CPU.
template <typename Make>
auto described(bool winograd, const Make& make) {
  if (winograd) {
    try {
      return make(dnnl::algorithm::convolution_winograd);
    } catch (const dnnl::error&) {
    }
  }
  return make(dnnl::algorithm::convolution_direct);
}

/// In two or three dimensions.
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
  // x [n,c,h,w]   w [k,c,r,s]   y [n,k,i,j]; volumes have a depth before the height
  void describe_primitives(const Program& program, const memory::desc& x_layout) override {
    const Geometry geometry = geometry_of(node_.op);
    const memory::dims& strides = geometry.strides;
    const memory::dims& padding = geometry.padding;
    const dnnl::engine& engine = program.engine();
    const memory::data_type type = program.numerics().type;
    const memory::dims x_dims = dims_of(x_layout);
    const memory::dims y_dims = joined({x_dims[0]}, node_.shape);
    weight_dims_ = joined({geometry.channels, x_dims[1]}, geometry.kernel);
    const auto x = any_layout(x_dims, type);
    const auto w = any_layout(weight_dims_, type);
    const auto dw = any_layout(weight_dims_);
    const auto b = has_bias() ? plain_layout({geometry.channels}) : memory::desc();
    const auto y = any_layout(y_dims, output_type(program));
    const auto dy = any_layout(y_dims, type);
    const bool winograd = wants_winograd(program.numerics().convolution, y_dims);
    forward_desc_ = described(winograd, [&](dnnl::algorithm how) {
      return describe_forward<convolution_forward>(engine, with_activation(context_),
                                                   dnnl::prop_kind::forward_training, how, x, w, b,
                                                   y, strides, padding, padding);
    });
    gradient_desc_ = described(winograd, [&](dnnl::algorithm how) {
      return describe_backward<convolution_backward_weights>(
          engine, user_scratchpad(), forward_desc_, how, x, dw, b, dy, strides, padding, padding);
    });
    if (!context_.wants_dx) return;
    backward_desc_ = described(winograd, [&](dnnl::algorithm how) {
      return describe_backward<convolution_backward_data>(engine, user_scratchpad(), forward_desc_,
                                                          how, x, w, dy, strides, padding, padding);
    });
  }

  bool wants_winograd(ConvolutionAlgorithm choice, const memory::dims& y_dims) const {
    if (choice == ConvolutionAlgorithm::automatic) return is_worth_winograd(weight_dims_, y_dims);
    return choice == ConvolutionAlgorithm::winograd;
  }
};

}  // namespace

std::unique_ptr<Layer> make_convolution(const Node& node, const FusionContext& context) {
  return std::make_unique<ConvolutionLayer>(node, context);
}

}  // namespace dllaunch::onednn
