#include <omp.h>

#include <cstring>
#include <utility>

#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/sequences/plain_floats.hpp"
#include "trainer/backends/onednn/sequences/row_kernels.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

/// A layer normalisation's memories; outlives compilation.
struct LayerNormRun {
  memory x;
  memory y;
  memory moments;  // [tokens, 2]: mean, inv_std
  memory sums;     // [threads, 2, width]: what each thread adds to the gradients
  std::size_t width = 0;
  float eps = 0;
  const BoundParameter* weight = nullptr;
  const BoundParameter* bias = nullptr;

  std::int64_t tokens() const { return dims_of(x.get_desc())[0]; }

  NormRow row(std::int64_t t) const {
    const auto at = t * static_cast<std::int64_t>(width);
    return {.width = width,
            .x = data_of(x) + at,
            .weight = data_of(weight->weight),
            .bias = data_of(bias->weight),
            .mean = data_of(moments)[2 * t],
            .inv_std = data_of(moments)[2 * t + 1]};
  }

  void forward(const memory& to) const {
    const std::int64_t rows = tokens();
#pragma omp parallel for schedule(static)
    for (std::int64_t t = 0; t < rows; ++t) {
      NormRow of = row(t);
      of.y = data_of(to) + t * static_cast<std::int64_t>(width);
      row_kernels().layer_norm(of, eps);
      data_of(moments)[2 * t] = of.mean;
      data_of(moments)[2 * t + 1] = of.inv_std;
    }
  }

  /// dx: may be dy; empty: not needed.
  void backward(const memory& dy, const memory& dx) const {
    const std::int64_t rows = tokens();
    const auto wide = static_cast<std::int64_t>(width);
    float* const all = data_of(sums);
    const std::int64_t parts = dims_of(sums.get_desc())[0];
    std::memset(all, 0, sums.get_desc().get_size());
#pragma omp parallel for schedule(static)
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::int64_t t = rows * part / parts; t < rows * (part + 1) / parts; ++t) {
        NormRow of = row(t);
        of.dy = data_of(dy) + t * wide;
        of.dx = dx ? data_of(dx) + t * wide : nullptr;
        of.dweight = all + part * 2 * wide;
        of.dbias = of.dweight + wide;
        row_kernels().layer_norm_backward(of);
      }
    }
    for (std::int64_t i = 0; i < 2 * wide; ++i) {
      float sum = 0;
      for (std::int64_t part = 0; part < parts; ++part) sum += all[part * 2 * wide + i];
      (i < wide ? data_of(weight->gradient)[i] : data_of(bias->gradient)[i - wide]) = sum;
    }
  }
};

class LayerNormLayer final : public Layer {
 public:
  LayerNormLayer(Node node, FusionContext context) : node_(std::move(node)), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    run_->x = plain_floats(program, steps, node_.name + " x", xs[0]);
    const memory::dims dims = dims_of(run_->x.get_desc());
    run_->width = static_cast<std::size_t>(dims[1]);
    run_->eps = static_cast<float>(std::get<LayerNorm>(node_.op).eps);
    const auto plain = plain_layout({dims[1]});
    run_->weight = &program.bind_parameter(node_.parameters[0], plain, plain);
    run_->bias = &program.bind_parameter(node_.parameters[1], plain, plain);
    run_->moments = program.allocate(plain_layout({dims[0], 2}));
    run_->sums = program.allocate(plain_layout({omp_get_max_threads(), 2, dims[1]}));
    run_->y = program.allocate(run_->x.get_desc());
    add_forward(program, steps, run_->y);
    // Halves what is kept: x is the residual, which is kept anyway.
    program.offer_recompute(run_->y, [this, &program](auto& more) {
      const memory y = program.allocate(run_->x.get_desc());
      add_forward(program, more, y);
      return y;
    });
    return run_->y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    auto& first = steps.parameters;
    const memory dy = program.sum(first, node_.name + " dy", dys, run_->x.get_desc());
    memory dx;
    if (context_.wants_dx) dx = program.is_shared(dy) ? program.allocate(run_->x.get_desc()) : dy;
    Memories used = {run_->x, run_->moments, run_->sums, dy};
    if (dx) used.push_back(dx);
    program.add_loop(first, node_.name + " backward", "own", used,
                     [run = run_, dy, dx] { run->backward(dy, dx); });
    return {dx ? dx : dy};
  }

 private:
  void add_forward(Program& program, std::vector<Step>& steps, const memory& y) {
    program.add_loop(steps, node_.name + " forward", "own", {run_->x, run_->moments, y},
                     [run = run_, y] { run->forward(y); });
  }

  Node node_;
  FusionContext context_;
  std::shared_ptr<LayerNormRun> run_ = std::make_shared<LayerNormRun>();
};

}  // namespace

std::unique_ptr<Layer> make_layer_norm(const Node& node, const FusionContext& context) {
  return std::make_unique<LayerNormLayer>(node, context);
}

}  // namespace dllaunch::onednn
