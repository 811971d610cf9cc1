#include "trainer/backends/gpu/layers/attention_layers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {
/// Returns the shape of what each head has: a row per sample and head, tokens wide.
Volume AttentionLayers::head_volume(std::size_t node) const {
  const auto& op = std::get<Attention>(graph_.nodes[node].op);
  const std::int64_t tokens = graph_.nodes[node].shape[0];
  const std::int64_t samples = plan_.nodes[node].shape.rows / tokens;
  return {.rows = samples * op.heads,
          .width = tokens,
          .channels = plan_.nodes[node].shape.channels / op.heads};
}

HeadShape AttentionLayers::head_shape(std::size_t node, std::int64_t parts) const {
  const auto& op = std::get<Attention>(graph_.nodes[node].op);
  const Volume of = head_volume(node);
  return {of.rows / op.heads, of.width, parts, std::int64_t{op.heads}, of.channels};
}

AttentionLayers::Arrays AttentionLayers::arrays_in(int step, std::size_t node, DType type,
                                                   bool backward) {
  const Volume of = head_volume(node);
  const std::int64_t rows = of.rows * of.width;
  const auto add = [&](std::int64_t elements, std::size_t each) {
    return memory_.add(static_cast<std::size_t>(elements) * each, step, step);
  };
  const std::size_t wide = bytes_of(type);
  return {.joint = add(3 * of.elements(), wide),
          .joint_grads = backward ? add(3 * of.elements(), wide) : -1,
          .outputs = add(of.elements(), wide),
          .scores = add(rows * of.width, sizeof(float)),
          .weights = add(rows * of.width, wide),
          .rows = add(rows, sizeof(SoftmaxRow)),
          .sums = backward ? add(rows, sizeof(float)) : -1};
}

void AttentionLayers::reserve(DType type) {
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (!std::holds_alternative<Attention>(graph_.nodes[n].op)) continue;
    const int step = static_cast<int>(n);
    layers_[n].forward = arrays_in(step, n, type, false);
    if (!plan_.nodes[n].trains) continue;
    layers_[n].backward = arrays_in(plan_.steps - 1 - step, n, type, true);
  }
}

std::optional<Error> AttentionLayers::make(MathLibrary& library, const Numerics& numerics) {
  std::size_t workspace = 0;
  const auto [type, tf32] = numerics;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (!std::holds_alternative<Attention>(graph_.nodes[n].op)) continue;
    const Volume of = head_volume(n);
    const std::int64_t tokens = of.width;
    const std::int64_t each = of.channels;
    const std::pair<MatmulShape, std::unique_ptr<Matmul>*> wanted[] = {
        {{tokens, tokens, each, false, true, type, DType::f32, tf32, of.rows}, &layers_[n].scores},
        {{tokens, each, tokens, false, false, type, type, tf32, of.rows}, &layers_[n].outputs},
        {{tokens, each, tokens, true, false, type, type, tf32, of.rows}, &layers_[n].gradients}};
    for (const auto& [shape, matmul] : wanted) {
      auto made = library.matmul(shape);
      if (!made) return std::move(made).error().within(graph_.nodes[n].name);
      workspace = std::max(workspace, (*made)->workspace());
      *matmul = *std::move(made);
    }
  }
  workspace_ = memory_.add(workspace);
  return std::nullopt;
}

template <typename T>
AttentionLayers::Heads<T> AttentionLayers::heads_at(std::size_t node, int piece) const {
  T* const first = memory_.at<T>(piece);
  const std::int64_t elements = head_volume(node).elements();
  return {first, first + elements, first + 2 * elements};
}

/// Writes queries, keys and values, and the weights.
template <typename T>
Scores AttentionLayers::compute_weights(GpuStream stream, std::size_t node, const Arrays& arrays,
                                        const T* x) {
  const auto& op = std::get<Attention>(graph_.nodes[node].op);
  const Volume of = head_volume(node);
  const auto [query, key, value] = heads_at<T>(node, arrays.joint);
  auto* const products = memory_.at<float>(arrays.scores);
  auto* const rows = memory_.at<SoftmaxRow>(arrays.rows);
  const float scale = 1 / std::sqrt(static_cast<float>(of.channels));
  const Scores scores{products, of.width, scale, op.causal};
  launch(stream, 3 * of.elements(), SplitHeads<T>{x, query, head_shape(node, 3)});
  layers_[node].scores->run(stream, query, key, products, false, workspace());
  launch(stream, of.rows * of.width, SoftmaxRows{scores, rows});
  launch(stream, of.rows * of.width * of.width,
         SoftmaxWeights<T>{scores, rows, memory_.at<T>(arrays.weights)});
  return scores;
}

template <typename T>
void AttentionLayers::forward(GpuStream stream, std::size_t node, const View<T>& view) {
  const Layer& layer = layers_[node];
  const Arrays& arrays = layer.forward;
  compute_weights(stream, node, arrays, view.x);
  T* const outputs = memory_.at<T>(arrays.outputs);
  layer.outputs->run(stream, memory_.at<T>(arrays.weights), heads_at<T>(node, arrays.joint).value,
                     outputs, false, workspace());
  launch(stream, view.out.elements(), JoinHeads<T>{outputs, view.y, head_shape(node, 1), false});
}

template <typename T>
void AttentionLayers::backward(GpuStream stream, std::size_t node, const View<T>& view) {
  const Layer& layer = layers_[node];
  const Arrays& arrays = layer.backward;
  const Scores scores = compute_weights(stream, node, arrays, view.x);
  const auto [query, key, value] = heads_at<T>(node, arrays.joint);
  const auto [dquery, dkey, dvalue] = heads_at<T>(node, arrays.joint_grads);
  T* const dy = memory_.at<T>(arrays.outputs);
  T* const weights = memory_.at<T>(arrays.weights);
  auto* const sums = memory_.at<float>(arrays.sums);
  const std::int64_t rows = view.out.elements() / head_volume(node).channels;
  launch(stream, view.out.elements(), SplitHeads<T>{view.dy, dy, head_shape(node, 1)});
  layer.gradients->run(stream, weights, dy, dvalue, false, workspace());
  // The gradients of weights take the place of the products, those of products that of the weights.
  layer.scores->run(stream, dy, value, memory_.at<float>(arrays.scores), false, workspace());
  launch(stream, rows, SoftmaxGradSums<T>{scores, weights, sums});
  launch(stream, rows * scores.tokens, SoftmaxGrads<T>{scores, sums, weights});
  layer.outputs->run(stream, weights, key, dquery, false, workspace());
  layer.gradients->run(stream, weights, query, dkey, false, workspace());
  launch(stream, view.in.elements(), JoinHeads<T>{dquery, view.dx, head_shape(node, 3), view.add});
}

template void AttentionLayers::forward(GpuStream, std::size_t, const View<float>&);
template void AttentionLayers::forward(GpuStream, std::size_t, const View<BFloat16>&);
template void AttentionLayers::forward(GpuStream, std::size_t, const View<Float16>&);
template void AttentionLayers::backward(GpuStream, std::size_t, const View<float>&);
template void AttentionLayers::backward(GpuStream, std::size_t, const View<BFloat16>&);
template void AttentionLayers::backward(GpuStream, std::size_t, const View<Float16>&);

}  // namespace dllaunch::gpu
