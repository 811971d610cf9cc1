// Layers of sequences that need no matrix products: embeddings, layer normalisation, GELU.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/row_kernels.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

float* data_of(const memory& of) {
  return static_cast<float*>(of.get_data_handle());
}

/// Returns a memory in the layout that these loops read.
memory plain_floats(Program& program, std::vector<Step>& steps, const std::string& name,
                    const memory& from) {
  return program.reorder_to(steps, name, from, plain_layout(dims_of(from.get_desc())));
}

/// Adds to its gradient itself: it touches few rows of it, and another node may have written it.
class EmbeddingLayer final : public Layer {
 public:
  EmbeddingLayer(Node node, bool is_shared) : node_(std::move(node)), is_shared_(is_shared) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const auto [vocabulary, width, deviation] = std::get<Embedding>(node_.op);
    const auto plain = plain_layout({vocabulary, width});
    program.bind_parameter(node_.parameters[0], plain, plain);
    ids_ = plain_floats(program, steps, node_.name + " x", xs[0]);
    const memory::dims ids = dims_of(ids_.get_desc());
    tokens_ = ids[0] * ids[1];
    memory y = program.allocate(plain_layout({tokens_, width}));
    // By reference: attach() comes later.
    const BoundParameter* of = &program.parameters()[parameter()];
    program.add_loop(steps, node_.name + " forward", "own", {ids_, y},
                     [ids = ids_, y, of, tokens = tokens_, rows = vocabulary, wide = width] {
                       const float* id = data_of(ids);
                       const float* weight = data_of(of->weight);
#pragma omp parallel for schedule(static)
                       for (memory::dim t = 0; t < tokens; ++t) {
                         const std::int64_t row = row_of_token(id[t], rows);
                         float* to = data_of(y) + t * wide;
                         if (row < 0) {
                           std::fill_n(to, wide, std::numeric_limits<float>::quiet_NaN());
                         } else {
                           std::copy_n(weight + row * wide, wide, to);
                         }
                       }
                     });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    const auto [vocabulary, width, deviation] = std::get<Embedding>(node_.op);
    auto& first = steps.parameters;
    const memory dy = program.sum(first, node_.name + " dy", dys, plain_layout({tokens_, width}));
    const BoundParameter* of = &program.parameters()[parameter()];
    const CallState* call = &program.call();
    program.add_loop(first, node_.name + " backward weights", "own", {ids_, dy},
                     [ids = ids_, dy, of, call, keeps = is_shared_, tokens = tokens_,
                      rows = vocabulary, wide = width] {
                       float* to = data_of(of->gradient);
                       if (!keeps && !call->accumulate)
                         std::memset(to, 0, of->gradient.get_desc().get_size());
        // Each thread adds its own columns, in the tokens' order: the same sum each time.
#pragma omp parallel
                       {
                         const std::int64_t threads = omp_get_num_threads();
                         const std::int64_t thread = omp_get_thread_num();
                         const std::int64_t begin = wide * thread / threads;
                         const std::int64_t end = wide * (thread + 1) / threads;
                         for (memory::dim t = 0; t < tokens; ++t) {
                           const std::int64_t row = row_of_token(data_of(ids)[t], rows);
                           if (row < 0) continue;
                           const float* from = data_of(dy) + t * wide;
                           for (std::int64_t w = begin; w < end; ++w) to[row * wide + w] += from[w];
                         }
                       }
                     });
    return {dy};
  }

 private:
  std::size_t parameter() const {
    return static_cast<std::size_t>(node_.parameters[0]);
  }

  Node node_;
  bool is_shared_;
  memory ids_;
  memory::dim tokens_ = 0;
};

class PositionEmbeddingLayer final : public Layer {
 public:
  explicit PositionEmbeddingLayer(Node node) : node_(std::move(node)) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const memory x = plain_floats(program, steps, node_.name + " x", xs[0]);
    layout_ = x.get_desc();
    const memory::dim positions = std::get<PositionEmbedding>(node_.op).positions;
    const auto plain = plain_layout({positions == 0 ? node_.shape[0] : positions, node_.shape[1]});
    program.bind_parameter(node_.parameters[0], plain, plain);
    memory y = program.allocate(layout_);
    const BoundParameter* of = &program.parameters()[parameter()];
    program.add_loop(steps, node_.name + " forward", "own", {x, y},
                     [x, y, of, wide = node_.shape[1], each = node_.shape[0]] {
                       const memory::dim tokens = dims_of(y.get_desc())[0];
#pragma omp parallel for schedule(static)
                       for (memory::dim t = 0; t < tokens; ++t) {
                         const float* from = data_of(x) + t * wide;
                         const float* weight = data_of(of->weight) + t % each * wide;
                         float* to = data_of(y) + t * wide;
                         for (memory::dim w = 0; w < wide; ++w) to[w] = from[w] + weight[w];
                       }
                     });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    auto& first = steps.parameters;
    const memory dy = program.sum(first, node_.name + " dy", dys, layout_);
    const BoundParameter* of = &program.parameters()[parameter()];
    program.add_loop(first, node_.name + " backward weights", "own", {dy},
                     [dy, of, wide = node_.shape[1], each = node_.shape[0]] {
                       const memory::dim tokens = dims_of(dy.get_desc())[0];
                       float* all = data_of(of->gradient);
                       std::memset(all, 0, of->gradient.get_desc().get_size());
#pragma omp parallel for schedule(static)
                       for (memory::dim place = 0; place < each; ++place) {
                         float* to = all + place * wide;
                         for (memory::dim t = place; t < tokens; t += each) {
                           const float* from = data_of(dy) + t * wide;
                           for (memory::dim w = 0; w < wide; ++w) to[w] += from[w];
                         }
                       }
                     });
    return {dy};
  }

 private:
  std::size_t parameter() const {
    return static_cast<std::size_t>(node_.parameters[0]);
  }

  Node node_;
  memory::desc layout_;
};

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

class GeluLayer final : public Layer {
 public:
  GeluLayer(const Node& node, FusionContext context)
      : name_(node.name), context_(context), kind_(kind_of(std::get<Gelu>(node.op))) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    x_ = xs[0];
    const memory y = add_forward(program, steps);
    // x is kept for its own gradient, so y need not be.
    program.offer_recompute(y, [this, &program](auto& more) { return add_forward(program, more); });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory::desc layout = x_.get_desc();
    const memory dy = program.sum(steps.input, name_ + " dy", dys, layout);
    const memory dx = program.is_shared(dy) ? program.allocate(layout) : dy;
    const auto desc =
        describe_activation_backward(program.engine(), user_scratchpad(), kind_, layout);
    program.add(steps.input, name_ + " backward", desc, dnnl::eltwise_backward(desc),
                {{DNNL_ARG_SRC, program.recompute(steps.input, x_)},
                 {DNNL_ARG_DIFF_DST, dy},
                 {DNNL_ARG_DIFF_SRC, dx}});
    return {dx};
  }

 private:
  static ActivationKind kind_of(const Gelu& op) {
    const auto algorithm =
        op.exact ? dnnl::algorithm::eltwise_gelu_erf : dnnl::algorithm::eltwise_gelu_tanh;
    return {algorithm, algorithm};
  }

  memory add_forward(Program& program, std::vector<Step>& steps) {
    const auto desc = describe_activation(program.engine(), user_scratchpad(), kind_.forward, kind_,
                                          x_.get_desc());
    memory y = program.allocate(x_.get_desc());
    program.add(steps, name_ + " forward", desc, dnnl::eltwise_forward(desc),
                {{DNNL_ARG_SRC, x_}, {DNNL_ARG_DST, y}});
    return y;
  }

  std::string name_;
  FusionContext context_;
  ActivationKind kind_;
  memory x_;
};

}  // namespace

std::unique_ptr<Layer> make_embedding(const Node& node, bool is_shared) {
  return std::make_unique<EmbeddingLayer>(node, is_shared);
}

std::unique_ptr<Layer> make_position_embedding(const Node& node) {
  return std::make_unique<PositionEmbeddingLayer>(node);
}

std::unique_ptr<Layer> make_layer_norm(const Node& node, const FusionContext& context) {
  return std::make_unique<LayerNormLayer>(node, context);
}

std::unique_ptr<Layer> make_gelu(const Node& node, const FusionContext& context) {
  return std::make_unique<GeluLayer>(node, context);
}

}  // namespace dllaunch::onednn
