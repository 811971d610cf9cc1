// Vectors looked up for tokens and for places.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/sequences/plain_floats.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

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
    steps.adds_gradients = true;
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
    const auto plain =
        plain_layout({1, positions == 0 ? node_.shape[0] : positions, node_.shape[1]});
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

}  // namespace

std::unique_ptr<Layer> make_embedding(const Node& node, bool is_shared) {
  return std::make_unique<EmbeddingLayer>(node, is_shared);
}

std::unique_ptr<Layer> make_position_embedding(const Node& node) {
  return std::make_unique<PositionEmbeddingLayer>(node);
}

}  // namespace dllaunch::onednn
