#include "trainer/backends/gpu/layers/token_layers.hpp"

#include <algorithm>

#include "support/position.hpp"
#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/kernels/token_functors.hpp"

namespace dllaunch::gpu {
namespace {

std::size_t size(std::int64_t of) {
  return static_cast<std::size_t>(of);
}

/// Puts the token before each sample's.
template <typename T>
void class_token_forward(const TokenPass<T>& pass) {
  const View<T>& v = pass.at;
  const std::int64_t samples = v.out.rows - v.in.rows;
  launch(pass.stream, v.out.elements(),
         MoveElements<T>{v.x, v.y, v.out.elements() / samples, v.in.elements() / samples,
                         v.in.channels, pass.weight, false});
}

template <typename T>
void class_token_backward(const TokenPass<T>& pass) {
  const View<T>& v = pass.at;
  const std::int64_t samples = v.out.rows - v.in.rows;
  const std::int64_t each = v.out.elements() / samples;
  const std::int64_t width = v.in.channels;
  if (pass.dweight != nullptr) {
    launch(pass.stream, width,
           SumOverSamples<T>{v.dy, pass.dweight, samples, each, width, pass.add_weights});
  }
  if (v.dx == nullptr) return;
  launch(pass.stream, v.in.elements(),
         MoveElements<T>{v.dy, v.dx, v.in.elements() / samples, each, -width, nullptr, v.add});
}

/// `each`: elements of a sample.
template <typename T>
void positions_forward(const TokenPass<T>& pass, std::int64_t each) {
  const View<T>& v = pass.at;
  launch(pass.stream, v.out.elements(), Convert<T, T>{v.x, v.y, false});
  launch(pass.stream, v.out.elements(), AddBias<T>{v.y, pass.weight, each});
}

template <typename T>
void positions_backward(const TokenPass<T>& pass, std::int64_t each, std::int64_t parameters) {
  const View<T>& v = pass.at;
  if (pass.dweight != nullptr) {
    const std::int64_t samples = v.out.elements() / each;
    launch(pass.stream, parameters,
           SumOverSamples<T>{v.dy, pass.dweight, samples, each, each, pass.add_weights});
  }
  if (v.dx == nullptr) return;
  launch(pass.stream, v.in.elements(), Convert<T, T>{v.dy, v.dx, v.add});
}

}  // namespace

TokenLayers::TokenLayers(const Graph& graph, const StepPlan& plan, DType type, DeviceMemory& memory)
    : graph_(graph), memory_(memory), norms_(graph.nodes.size()) {
  std::int64_t norm_rows = 0;
  std::int64_t partial = 0;
  std::int64_t width = 0;
  std::int64_t tokens = 0;
  int tokens_end = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Volume& shape = plan.nodes[n].shape;
    if (std::holds_alternative<Embedding>(graph.nodes[n].op)) {
      tokens = std::max(tokens, shape.rows);
      tokens_end = std::max(tokens_end, plan.steps - 1 - static_cast<int>(n));
    }
    if (!std::holds_alternative<LayerNorm>(graph.nodes[n].op)) continue;
    const Chunks chunks = chunks_of(shape.rows, shape.channels);
    norm_rows = std::max(norm_rows, shape.rows);
    partial = std::max(partial, 2 * chunks.count * shape.channels);
    width = std::max(width, shape.channels);
    const int step = static_cast<int>(n);
    const int last = plan.nodes[n].trains ? plan.steps - 1 - step : step;
    const std::size_t bytes = size(shape.rows) * sizeof(float);
    norms_[n] = {memory.add(bytes, step, last), memory.add(bytes, step, last)};
  }
  means_ = memory.add(size(2 * norm_rows) * sizeof(float));
  partial_ = memory.add(size(partial) * sizeof(float));
  joined_ = memory.add(size(2 * width) * sizeof(double));
  if (tokens > 0 && type != DType::f32) {
    tokens_ = memory.add(size(tokens) * sizeof(float), 0, tokens_end);
  }
  occurrences_ = memory.add(size(tokens) * sizeof(Occurrence));
}

template <typename T>
void TokenLayers::norm_forward(const LayerNorm& op, const Rows& rows, const TokenPass<T>& pass) {
  const View<T>& v = pass.at;
  auto* const mean = memory_.at<float>(rows.mean);
  auto* const inv_std = memory_.at<float>(rows.inv_std);
  launch(pass.stream, v.in.rows,
         RowMoments<T>{v.x, v.in.channels, static_cast<float>(op.eps), mean, inv_std});
  launch(pass.stream, v.out.elements(),
         RowNormForward<T>{v.x, v.y, {mean, inv_std, v.in.channels}, pass.weight, pass.bias});
}

template <typename T>
void TokenLayers::norm_backward(const Rows& rows, const TokenPass<T>& pass) {
  const View<T>& v = pass.at;
  const std::int64_t width = v.in.channels;
  const RowNorm of{memory_.at<float>(rows.mean), memory_.at<float>(rows.inv_std), width};
  if (pass.dweight != nullptr || pass.dbias != nullptr) {
    const Chunks chunks = chunks_of(v.in.rows, width);
    auto* const partial = memory_.at<float>(partial_);
    launch(pass.stream, chunks.count * width, ChunkRowGradSums<T>{v.x, v.dy, of, chunks, partial});
    launch(pass.stream, 2 * width,
           JoinSums<double>{partial, chunks, memory_.at<double>(joined_), pass.dbias, pass.dweight,
                            pass.add_weights});
  }
  if (v.dx == nullptr) return;
  auto* const means = memory_.at<float>(means_);
  launch(pass.stream, v.in.rows, RowGradMeans<T>{v.x, v.dy, of, pass.weight, means});
  launch(pass.stream, v.in.elements(),
         RowNormBackward<T>{v.x, v.dy, of, pass.weight, means, v.dx, v.add});
}

template <typename T>
const float* TokenLayers::tokens_of(const TokenPass<T>& pass) const {
  if constexpr (std::is_same_v<T, float>) {
    return pass.at.x;
  } else {
    return exact_tokens();
  }
}

template <typename T>
void TokenLayers::embedding_backward(const Embedding& op, const TokenPass<T>& pass) {
  if (pass.dweight == nullptr) return;
  const View<T>& v = pass.at;
  const float* const tokens = tokens_of(pass);
  auto* const occurrences = memory_.at<Occurrence>(occurrences_);
  if (!pass.add_weights) {
    const std::size_t bytes = size(std::int64_t{op.vocabulary} * op.width) * sizeof(float);
    check(gpu_clear_later(pass.dweight, bytes, pass.stream), "clear");
  }
  launch(pass.stream, v.out.rows, FindOccurrences{tokens, v.out.rows, op.vocabulary, occurrences});
  launch(pass.stream, v.out.elements(),
         EmbeddingGrads<T>{v.dy, tokens, occurrences, pass.dweight, op.vocabulary, op.width});
}

template <typename T>
void TokenLayers::forward(std::size_t node, const TokenPass<T>& pass) {
  const Node& of = graph_.nodes[node];
  if (const auto* words = std::get_if<Embedding>(&of.op)) {
    const View<T>& v = pass.at;
    return launch(
        pass.stream, v.out.elements(),
        EmbedTokens<T>{tokens_of(pass), pass.weight, v.y, words->vocabulary, words->width});
  }
  if (const auto* norm = std::get_if<LayerNorm>(&of.op)) {
    return norm_forward(*norm, norms_[node], pass);
  }
  if (std::holds_alternative<ClassToken>(of.op)) return class_token_forward(pass);
  positions_forward(pass, elements_of(of.shape));
}

template <typename T>
void TokenLayers::backward(std::size_t node, const TokenPass<T>& pass) {
  const Node& of = graph_.nodes[node];
  if (const auto* words = std::get_if<Embedding>(&of.op)) return embedding_backward(*words, pass);
  if (std::holds_alternative<LayerNorm>(of.op)) return norm_backward(norms_[node], pass);
  if (std::holds_alternative<ClassToken>(of.op)) return class_token_backward(pass);
  const Parameter& weight = graph_.parameters[at(of.parameters.front())];
  positions_backward(pass, elements_of(of.shape), elements_of(weight.shape));
}

template void TokenLayers::forward(std::size_t, const TokenPass<float>&);
template void TokenLayers::forward(std::size_t, const TokenPass<BFloat16>&);
template void TokenLayers::forward(std::size_t, const TokenPass<Float16>&);
template void TokenLayers::backward(std::size_t, const TokenPass<float>&);
template void TokenLayers::backward(std::size_t, const TokenPass<BFloat16>&);
template void TokenLayers::backward(std::size_t, const TokenPass<Float16>&);

}  // namespace dllaunch::gpu
