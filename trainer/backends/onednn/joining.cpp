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

/// In plain layouts: the layer is used only for few, small images.
class ZeroPadLayer final : public Layer {
 public:
  ZeroPadLayer(const Node& node, const FusionContext& context) : node_(node), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    x_dims_ = dims_of(xs[0].get_desc());
    type_ = type_of(xs[0].get_desc());
    const memory x =
        program.reorder_to(steps, node_.name + " x", xs[0], plain_layout(x_dims_, type_));
    memory y = program.allocate(plain_layout(y_dims(), type_));
    program.add_loop(steps, node_.name + " forward", "own", {x, y}, [x, y, copy = rows()] {
      std::memset(y.get_data_handle(), 0, y.get_desc().get_size());
      copy(x, y, true);
    });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory sum = program.sum(steps.input, node_.name + " dy", dys);
    const memory dy =
        program.reorder_to(steps.input, node_.name + " dy", sum, plain_layout(y_dims(), type_));
    const memory dx = program.allocate(plain_layout(x_dims_, type_));
    program.add_loop(steps.input, node_.name + " backward", "own", {dy, dx},
                     [dy, dx, copy = rows()] { copy(dx, dy, false); });
    return {dx};
  }

 private:
  memory::dims y_dims() const {
    return {x_dims_[0], node_.shape[0], node_.shape[1], node_.shape[2]};
  }

  /// Returns a copy of an image's rows into the middle of the padded image, or back.
  std::function<void(const memory&, const memory&, bool)> rows() const {
    const auto pixels = static_cast<memory::dim>(std::get<ZeroPad2d>(node_.op).pixels);
    const auto size = static_cast<memory::dim>(memory::data_type_size(type_));
    return [x = x_dims_, y = y_dims(), pixels, size](const memory& inner, const memory& outer,
                                                     bool in) {
      auto* small = static_cast<std::byte*>(inner.get_data_handle());
      auto* large = static_cast<std::byte*>(outer.get_data_handle());
      const memory::dim images = x[0] * x[1];
      const auto bytes = static_cast<std::size_t>(x[3] * size);
#pragma omp parallel for schedule(static)
      for (memory::dim image = 0; image < images; ++image) {
        for (memory::dim row = 0; row < x[2]; ++row) {
          std::byte* of_small = small + (image * x[2] + row) * x[3] * size;
          std::byte* of_large = large + ((image * y[2] + row + pixels) * y[3] + pixels) * size;
          std::memcpy(in ? of_large : of_small, in ? of_small : of_large, bytes);
        }
      }
    };
  }

  Node node_;
  FusionContext context_;
  memory::dims x_dims_;
  memory::data_type type_ = memory::data_type::f32;
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
