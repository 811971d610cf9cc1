#include <cstring>
#include <utility>

#include "trainer/backends/onednn/channel_layout.hpp"
#include "trainer/backends/onednn/layers.hpp"
#include "trainer/graph/dropout.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

/// Scales the kept elements, so that the expected sum does not change. Padding becomes zero.
void drop(const memory& from, const memory& to, const DropoutMask& mask, float scale) {
  const ChannelLayout layout = *channel_layout(from.get_desc());
  const auto channels = static_cast<std::size_t>(dims_of(from.get_desc())[1]);
  const auto* x = static_cast<const float*>(from.get_data_handle());
  auto* y = static_cast<float*>(to.get_data_handle());
  const auto blocks = static_cast<std::int64_t>(layout.rows * layout.groups);
#pragma omp parallel for schedule(static)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::size_t row = static_cast<std::size_t>(block) / layout.groups;
    const std::size_t first = static_cast<std::size_t>(block) % layout.groups * layout.lanes;
    std::size_t at = static_cast<std::size_t>(block) * layout.pixels * layout.lanes;
    for (std::size_t pixel = 0; pixel < layout.pixels; ++pixel) {
      for (std::size_t channel = first; channel < first + layout.lanes; ++channel, ++at) {
        const std::size_t element = (row * channels + channel) * layout.pixels + pixel;
        y[at] = channel < channels && mask.keeps(element) ? x[at] * scale : 0.F;
      }
    }
  }
}

/// Returns the layout in f32 if it is a ChannelLayout, else the plain one.
memory::desc layout_for(const memory::desc& layout) {
  const auto single = retyped(layout, memory::data_type::f32);
  return single && channel_layout(*single) ? *single : plain_layout(dims_of(layout));
}

/// Regenerates the mask in the backward pass instead of keeping it.
class DropoutLayer final : public Layer {
 public:
  DropoutLayer(const Node& node, const FusionContext& context) : node_(node), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    layout_ = layout_for(xs[0].get_desc());
    const memory x = program.reorder_to(steps, node_.name + " x", xs[0], layout_);
    memory y = program.allocate(layout_);
    program.add_loop(steps, node_.name + " forward", "own", {x, y},
                     [x, y, drop_all = dropper(program)] { drop_all(x, y); });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory dy = program.sum(steps.input, node_.name + " dy", dys, layout_);
    const memory dx = program.is_shared(dy) ? program.allocate(layout_) : dy;
    program.add_loop(steps.input, node_.name + " backward", "own", {dy, dx},
                     [dy, dx, drop_all = dropper(program)] { drop_all(dy, dx); });
    return {dx};
  }

 private:
  std::function<void(const memory&, const memory&)> dropper(Program& program) const {
    const double rate = std::get<Dropout>(node_.op).rate;
    return [call = &program.call(), name = node_.name, rate](const memory& from, const memory& to) {
      if (call->train) {
        const DropoutMask mask(call->random, name, rate);
        return drop(from, to, mask, static_cast<float>(1 / (1 - rate)));
      }
      std::memcpy(to.get_data_handle(), from.get_data_handle(), from.get_desc().get_size());
    };
  }

  Node node_;
  FusionContext context_;
  memory::desc layout_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(const Node& node, const FusionContext& context) {
  return std::make_unique<DropoutLayer>(node, context);
}

}  // namespace dllaunch::onednn
