// Layers that make sequences of images, and vectors of sequences. They only copy.
#include <algorithm>
#include <cstring>
#include <utility>

#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/sequences/plain_floats.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

/// Calls function(image, x, y) with each image's part of two arrays.
template <typename Function>
void for_each_image(const memory& x, const memory& y, memory::dim images,
                    const Function& function) {
  const auto floats = [&](const memory& of) {
    return static_cast<memory::dim>(of.get_desc().get_size() / sizeof(float)) / images;
  };
  const memory::dim of_x = floats(x);
  const memory::dim of_y = floats(y);
#pragma omp parallel for schedule(static)
  for (memory::dim image = 0; image < images; ++image) {
    function(data_of(x) + image * of_x, data_of(y) + image * of_y);
  }
}

/// A layer that copies an image's x to y, and dy back to dx.
class Copying : public Layer {
 public:
  Copying(Node node, FusionContext context) : node_(std::move(node)), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const memory x = plain_floats(program, steps, node_.name + " x", xs[0]);
    x_ = x.get_desc();
    images_ = images_of(dims_of(x_));
    start(program);
    const memory y = program.allocate(y_layout());
    program.add_loop(
        steps, node_.name + " forward", "own", {x, y},
        [x, y, images = images_, copy = forward()] { for_each_image(x, y, images, copy); });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    const memory dy = program.sum(steps.parameters, node_.name + " dy", dys, y_layout());
    add_gradients(program, steps.parameters, dy);
    if (!context_.wants_dx) return {dy};
    const memory dx = program.allocate(x_);
    program.add_loop(
        steps.input, node_.name + " backward", "own", {dy, dx},
        [dy, dx, images = images_, copy = backward()] { for_each_image(dx, dy, images, copy); });
    return {dx};
  }

 protected:
  using Copy = std::function<void(float* x, float* y)>;

  virtual memory::dim images_of(const memory::dims& x) const = 0;
  virtual Copy forward() const = 0;
  virtual Copy backward() const = 0;
  virtual void start(Program&) {}
  virtual void add_gradients(Program&, std::vector<Step>&, const memory&) {}

  memory::desc y_layout() const {
    const bool vector = node_.shape.size() == 1;
    return plain_layout({vector ? images_ : images_ * node_.shape[0], node_.shape.back()});
  }

  Node node_;
  FusionContext context_;
  memory::desc x_;
  memory::dim images_ = 0;
};

class ToSequenceLayer final : public Copying {
 public:
  using Copying::Copying;

 private:
  memory::dim images_of(const memory::dims& x) const override { return x[0]; }
  Copy forward() const override {
    return [tokens = node_.shape[0], width = node_.shape[1]](const float* x, float* y) {
      for (memory::dim w = 0; w < width; ++w) {
        for (memory::dim t = 0; t < tokens; ++t) y[t * width + w] = x[w * tokens + t];
      }
    };
  }
  Copy backward() const override {
    return [tokens = node_.shape[0], width = node_.shape[1]](float* dx, const float* dy) {
      for (memory::dim w = 0; w < width; ++w) {
        for (memory::dim t = 0; t < tokens; ++t) dx[w * tokens + t] = dy[t * width + w];
      }
    };
  }
};

class ClassTokenLayer final : public Copying {
 public:
  using Copying::Copying;

 private:
  memory::dim images_of(const memory::dims& x) const override {
    return x[0] / (node_.shape[0] - 1);
  }
  void start(Program& program) override {
    const auto plain = plain_layout({1, 1, node_.shape[1]});
    token_ = &program.bind_parameter(node_.parameters[0], plain, plain);
  }
  Copy forward() const override {
    return [token = token_, tokens = node_.shape[0], width = node_.shape[1]](const float* x,
                                                                             float* y) {
      std::copy_n(data_of(token->weight), width, y);
      std::copy_n(x, (tokens - 1) * width, y + width);
    };
  }
  Copy backward() const override {
    return [tokens = node_.shape[0], width = node_.shape[1]](float* dx, const float* dy) {
      std::copy_n(dy + width, (tokens - 1) * width, dx);
    };
  }
  void add_gradients(Program& program, std::vector<Step>& steps, const memory& dy) override {
    program.add_loop(steps, node_.name + " backward weights", "own", {dy},
                     [dy, token = token_, images = images_, of_image = elements_of(node_.shape),
                      width = node_.shape[1]] {
                       float* const sum = data_of(token->gradient);
                       std::copy_n(data_of(dy), width, sum);
                       for (memory::dim image = 1; image < images; ++image) {
                         const float* const from = data_of(dy) + image * of_image;
                         for (memory::dim w = 0; w < width; ++w) sum[w] += from[w];
                       }
                     });
  }

  const BoundParameter* token_ = nullptr;
};

class FirstTokenLayer final : public Copying {
 public:
  FirstTokenLayer(Node node, FusionContext context, std::int64_t tokens)
      : Copying(std::move(node), context), tokens_(tokens) {}

 private:
  memory::dim images_of(const memory::dims& x) const override { return x[0] / tokens_; }
  Copy forward() const override {
    return [width = node_.shape[0]](const float* x, float* y) { std::copy_n(x, width, y); };
  }
  Copy backward() const override {
    return [tokens = tokens_, width = node_.shape[0]](float* dx, const float* dy) {
      std::copy_n(dy, width, dx);
      std::fill_n(dx + width, (tokens - 1) * width, 0.F);
    };
  }

  std::int64_t tokens_;
};

}  // namespace

std::unique_ptr<Layer> make_to_sequence(const Node& node, const FusionContext& context) {
  return std::make_unique<ToSequenceLayer>(node, context);
}

std::unique_ptr<Layer> make_class_token(const Node& node, const FusionContext& context) {
  return std::make_unique<ClassTokenLayer>(node, context);
}

std::unique_ptr<Layer> make_first_token(const Node& node, const FusionContext& context,
                                        std::int64_t tokens) {
  return std::make_unique<FirstTokenLayer>(node, context, tokens);
}

}  // namespace dllaunch::onednn
