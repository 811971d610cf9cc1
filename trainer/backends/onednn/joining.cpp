// Layers that only copy or add: Add, ZeroPad2d, Flatten.
#include <cstring>
#include <utility>

#include "trainer/backends/onednn/elementwise.hpp"
#include "trainer/backends/onednn/layers.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

class AddLayer final : public Layer {
 public:
  explicit AddLayer(Node node) : node_(std::move(node)) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const memory::desc layout = xs[0].get_desc();
    const memory& x = xs[0];
    const memory other = program.reorder_to(steps, node_.name + " x", xs[1], layout);
    memory y = program.allocate(layout);
    program.add_loop(steps, node_.name + " forward", "own", {x, other, y},
                     [x, other, y] { add_elements(x, other, y); });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    const memory dy = program.sum(steps.input, node_.name + " dy", dys);
    program.mark_shared(dy);
    return {dy, dy};
  }

 private:
  Node node_;
};

/// Layouts of images in which the channels of a plane lie together in each pixel.
struct Planes {
  memory::format_tag tag = memory::format_tag::nchw;
  memory::dim channels = 1;  // of a plane
};

Planes planes_of(const memory::desc& layout) {
  using tag = memory::format_tag;
  const memory::dims dims = dims_of(layout);
  for (const Planes& planes :
       {Planes{tag::nChw16c, 16}, Planes{tag::nChw8c, 8}, Planes{tag::nhwc, dims[1]}}) {
    if (layout == memory::desc(dims, type_of(layout), planes.tag)) return planes;
  }
  return {};
}

/// y has the layout of x, if that is one of Planes.
class ZeroPadLayer final : public Layer {
 public:
  ZeroPadLayer(const Node& node, const FusionContext& context) : node_(node), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const memory::desc layout = xs[0].get_desc();
    const memory::dims dims = dims_of(layout);
    planes_ = planes_of(layout);
    x_ = {dims, type_of(layout), planes_.tag};
    y_ = {{dims[0], node_.shape[0], node_.shape[1], node_.shape[2]}, type_of(layout), planes_.tag};
    const memory x = program.reorder_to(steps, node_.name + " x", xs[0], x_);
    memory y = program.allocate(y_);
    program.add_loop(steps, node_.name + " forward", "own", {x, y}, [x, y, copy = rows()] {
      std::memset(y.get_data_handle(), 0, y.get_desc().get_size());
      copy(x, y, true);
    });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory sum = program.sum(steps.input, node_.name + " dy", dys);
    const memory dy = program.reorder_to(steps.input, node_.name + " dy", sum, y_);
    const memory dx = program.allocate(x_);
    program.add_loop(steps.input, node_.name + " backward", "own", {dy, dx},
                     [dy, dx, copy = rows()] { copy(dx, dy, false); });
    return {dx};
  }

 private:
  /// Returns a copy of a plane's rows into the middle of the padded plane, or back.
  std::function<void(const memory&, const memory&, bool)> rows() const {
    const auto pixels = static_cast<memory::dim>(std::get<ZeroPad2d>(node_.op).pixels);
    const memory::dims x = dims_of(x_);
    const memory::dims y = dims_of(y_);
    const memory::dim planes = x[0] * ((x[1] + planes_.channels - 1) / planes_.channels);
    const auto pixel =
        planes_.channels * static_cast<memory::dim>(memory::data_type_size(type_of(x_)));
    return [x, y, pixels, planes, pixel](const memory& inner, const memory& outer, bool in) {
      auto* small = static_cast<std::byte*>(inner.get_data_handle());
      auto* large = static_cast<std::byte*>(outer.get_data_handle());
      const auto bytes = static_cast<std::size_t>(x[3] * pixel);
#pragma omp parallel for schedule(static)
      for (memory::dim plane = 0; plane < planes; ++plane) {
        for (memory::dim row = 0; row < x[2]; ++row) {
          std::byte* of_small = small + (plane * x[2] + row) * x[3] * pixel;
          std::byte* of_large = large + ((plane * y[2] + row + pixels) * y[3] + pixels) * pixel;
          std::memcpy(in ? of_large : of_small, in ? of_small : of_large, bytes);
        }
      }
    };
  }

  Node node_;
  FusionContext context_;
  Planes planes_;
  memory::desc x_;
  memory::desc y_;
};

class FlattenLayer final : public Layer {
 public:
  FlattenLayer(Node node, std::int64_t rows) : node_(std::move(node)), rows_(rows) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    image_ = plain_layout(dims_of(xs[0].get_desc()), type_of(xs[0].get_desc()));
    const memory x = program.reorder_to(steps, node_.name + " x", xs[0], image_);
    return copy(program, steps, " forward", x, vector());
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    const memory sum = program.sum(steps.input, node_.name + " dy", dys, vector());
    return {copy(program, steps.input, " backward", sum, image_)};
  }

 private:
  memory::desc vector() const {
    return plain_layout({dims_of(image_)[0] / rows_, node_.shape[0]}, type_of(image_));
  }
  memory copy(Program& program, std::vector<Step>& steps, const char* which, const memory& from,
              const memory::desc& layout) const {
    memory to = program.allocate(layout);
    program.add_loop(steps, node_.name + which, "own", {from, to}, [from, to] {
      std::memcpy(to.get_data_handle(), from.get_data_handle(), to.get_desc().get_size());
    });
    return to;
  }

  Node node_;
  std::int64_t rows_;
  memory::desc image_;
};

class FlattenedLayer final : public Layer {
 public:
  FlattenedLayer(std::unique_ptr<Layer> layer, const Node& node)
      : layer_(std::move(layer)), flatten_(node, 1) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    return flatten_.compile_forward(program, steps, {layer_->compile_forward(program, steps, xs)});
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    return layer_->compile_backward(program, steps, flatten_.compile_backward(program, steps, dys));
  }

 private:
  std::unique_ptr<Layer> layer_;
  FlattenLayer flatten_;
};

}  // namespace

std::unique_ptr<Layer> make_add(const Node& node) {
  return std::make_unique<AddLayer>(node);
}

std::unique_ptr<Layer> make_zero_pad(const Node& node, const FusionContext& context) {
  return std::make_unique<ZeroPadLayer>(node, context);
}

std::unique_ptr<Layer> make_flatten(const Node& node, std::int64_t rows) {
  return std::make_unique<FlattenLayer>(node, rows);
}

std::unique_ptr<Layer> make_flattened(std::unique_ptr<Layer> layer, const Node& node) {
  return std::make_unique<FlattenedLayer>(std::move(layer), node);
}

}  // namespace dllaunch::onednn
