#include "trainer/backends/gpu/layers/norm_layers.hpp"

#include <algorithm>

#include "trainer/backends/channel_moments.hpp"
#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"

namespace dllaunch::gpu {
namespace {

/// Copies the values to the host, applies `change`, and copies them back.
template <typename Change>
void change_on_host(GpuStream stream, double* values, std::size_t count, const Change& change) {
  std::vector<double> here(count);
  check(gpu_copy_later(here.data(), values, count * sizeof(double), stream), "copy of sums");
  check(gpu_synchronise(stream), "sums");
  change(here);
  check(gpu_copy_later(values, here.data(), count * sizeof(double), stream), "copy of sums");
  check(gpu_synchronise(stream), "sums");
}

}  // namespace

NormLayers::NormLayers(const Graph& graph, const StepPlan& plan, const SumOverRanks& sum_over_ranks,
                       DeviceMemory& memory)
    : graph_(graph),
      sum_over_ranks_(sum_over_ranks),
      memory_(memory),
      layers_(graph.nodes.size()),
      places_(graph.buffers.size()) {
  std::int64_t partial = 0;
  std::int64_t joined = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const Volume& shape = plan.nodes[n].shape;
    const auto* norm = std::get_if<BatchNorm>(&node.op);
    if (norm == nullptr && !traits_of(node.op).weighted) continue;
    const Chunks chunks = chunks_of(shape.rows * shape.pixels(), shape.channels);
    partial = std::max(partial, 2 * chunks.count * chunks.channels);
    joined = std::max(joined, 2 * shape.channels);
    if (norm == nullptr) continue;
    const std::size_t bytes = static_cast<std::size_t>(shape.channels) * sizeof(float);
    layers_[n] = {.op = *norm,
                  .channels = shape.channels,
                  .pixels = shape.pixels(),
                  .mean = memory.add(bytes),
                  .inv_std = memory.add(bytes),
                  .running_mean = memory.add(2 * bytes),
                  .running_var = memory.add(2 * bytes)};
    for (std::size_t b = 0; b < node.buffers.size(); ++b) {
      places_[static_cast<std::size_t>(node.buffers[b])] = {n, static_cast<int>(b)};
    }
  }
  partial_ = memory.add(static_cast<std::size_t>(partial) * sizeof(float));
  joined_ = memory.add(static_cast<std::size_t>(joined) * sizeof(double));
  means_ = memory.add(static_cast<std::size_t>(joined) * sizeof(float));
}

void NormLayers::start() {
  for (const Layer& layer : layers_) {
    for (const int piece : {layer.mean, layer.inv_std}) {
      if (piece < 0) continue;
      check(gpu_clear_later(memory_.at<float>(piece), memory_.bytes(piece), nullptr), "clear");
    }
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Buffer& buffer = graph_.buffers[i];
    set_buffer(
        static_cast<int>(i),
        std::vector<double>(static_cast<std::size_t>(elements_of(buffer.shape)), buffer.initial));
  }
}

void NormLayers::count_batch(std::int64_t rows) {
  if (sum_over_ranks_) return;
  for (Layer& layer : layers_) {
    layer.count = static_cast<double>(rows * layer.pixels);
    if (layer.count > 0) layer.batches += 1;
  }
}

NormChannel NormLayers::channel(const Layer& layer, const float* weight, const float* bias) const {
  return {memory_.at<float>(layer.mean), memory_.at<float>(layer.inv_std), weight, bias};
}

template <typename T>
void NormLayers::measure(GpuStream stream, const NormPass<T>& pass, Layer& layer) {
  const std::int64_t pixels = pass.rows * pass.shape.pixels();
  const Chunks chunks = chunks_of(pixels, layer.channels);
  const std::int64_t parts = chunks.count * chunks.channels;
  auto* const means = memory_.at<float>(partial_);
  auto* const moments = memory_.at<double>(joined_);
  launch(stream, parts, ChunkMoments<T>{pass.x, chunks, means, means + parts});
  launch(stream, layer.channels, JoinMoments<double>{means, means + parts, chunks, moments});
  if (sum_over_ranks_) {
    layer.count = static_cast<double>(pixels);
    const auto channels = static_cast<std::size_t>(layer.channels);
    change_on_host(stream, moments, 2 * channels, [&](std::vector<double>& values) {
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(channels);
      ChannelMoments all{layer.count, {values.begin(), middle}, {middle, values.end()}};
      allreduce_moments(all, sum_over_ranks_);
      layer.count = all.count;
      std::ranges::copy(all.mean, values.begin());
      std::ranges::copy(all.squares, middle);
    });
    if (layer.count > 0) layer.batches += 1;
  }
  if (layer.count == 0) return;
  launch(stream, layer.channels,
         TakeMoments<double>{moments, layer.channels, layer.count, layer.op.eps, layer.op.momentum,
                             memory_.at<float>(layer.mean), memory_.at<float>(layer.inv_std),
                             memory_.at<double>(layer.running_mean),
                             memory_.at<double>(layer.running_var)});
}

template <typename T>
void NormLayers::forward(GpuStream stream, const NormPass<T>& pass, Statistics statistics) {
  Layer& layer = layers_[static_cast<std::size_t>(pass.node)];
  if (statistics == Statistics::of_batch) measure(stream, pass, layer);
  if (statistics == Statistics::running) {
    launch(stream, layer.channels,
           TakeRunning<double>{memory_.at<double>(layer.running_mean),
                               memory_.at<double>(layer.running_var), layer.op.eps,
                               memory_.at<float>(layer.mean), memory_.at<float>(layer.inv_std)});
  }
  launch(stream, pass.shape.elements(),
         NormForward<T>{pass.x, pass.other, pass.y, channel(layer, pass.weight, pass.bias),
                        layer.channels, pass.relu});
}

template <typename T>
void NormLayers::backward(GpuStream stream, const NormPass<T>& pass) {
  const Layer& layer = layers_[static_cast<std::size_t>(pass.node)];
  const NormChannel of = channel(layer, pass.weight, pass.bias);
  const std::int64_t present = pass.rows * pass.shape.pixels();
  const Chunks chunks = chunks_of(present, layer.channels);
  auto* const partial = memory_.at<float>(partial_);
  auto* const sums = memory_.at<double>(joined_);
  const MaskedGrad<T> masked_dy{pass.dy, pass.relu ? pass.y : nullptr};
  launch(stream, chunks.count * chunks.channels,
         ChunkGradSums<T>{masked_dy, pass.x, of, chunks, partial});
  launch(stream, 2 * layer.channels,
         JoinSums<double>{partial, chunks, sums, pass.dbias, pass.dweight, pass.add_weights});
  if (pass.dx != nullptr && sum_over_ranks_) {
    change_on_host(stream, sums, static_cast<std::size_t>(2 * layer.channels),
                   [&](std::vector<double>& values) { sum_over_ranks_(values); });
  }
  if (pass.dx == nullptr && pass.dother == nullptr) return;
  auto* const means = memory_.at<float>(means_);
  launch(stream, 2 * layer.channels,
         TakeMeans<double>{sums, layer.count > 0 ? layer.count : 1, means});
  launch(stream, pass.shape.elements(),
         NormBackward<T>{masked_dy, pass.x, of, means, layer.channels, present * layer.channels,
                         pass.dx, pass.dother, pass.add, pass.add_other});
}

template <typename T>
void NormLayers::bias_backward(GpuStream stream, const Volume& shape, const T* dy, float* gradient,
                               bool add) {
  const Chunks chunks = chunks_of(shape.rows * shape.pixels(), shape.channels);
  auto* const partial = memory_.at<float>(partial_);
  auto* const sums = memory_.at<double>(joined_);
  launch(stream, chunks.count * chunks.channels,
         ChunkGradSums<T>{{dy, nullptr}, nullptr, {}, chunks, partial});
  launch(stream, shape.channels, JoinSums<double>{partial, chunks, sums, gradient, nullptr, add});
}

std::vector<double> NormLayers::buffer(int index) const {
  const auto [node, which] = places_[static_cast<std::size_t>(index)];
  const Layer& layer = layers_[node];
  if (which == 2) return {layer.batches};
  const int piece = which == 0 ? layer.running_mean : layer.running_var;
  std::vector<double> values(static_cast<std::size_t>(layer.channels));
  check(gpu_copy(values.data(), memory_.at<double>(piece), memory_.bytes(piece)), "copy");
  return values;
}

void NormLayers::set_buffer(int index, std::span<const double> values) {
  const auto [node, which] = places_[static_cast<std::size_t>(index)];
  Layer& layer = layers_[node];
  if (which == 2) {
    layer.batches = values[0];
    return;
  }
  const int piece = which == 0 ? layer.running_mean : layer.running_var;
  check(gpu_copy(memory_.at<double>(piece), values.data(), memory_.bytes(piece)), "copy");
}

template void NormLayers::forward(GpuStream, const NormPass<float>&, Statistics);
template void NormLayers::forward(GpuStream, const NormPass<BFloat16>&, Statistics);
template void NormLayers::forward(GpuStream, const NormPass<Float16>&, Statistics);
template void NormLayers::backward(GpuStream, const NormPass<float>&);
template void NormLayers::backward(GpuStream, const NormPass<BFloat16>&);
template void NormLayers::backward(GpuStream, const NormPass<Float16>&);
template void NormLayers::bias_backward(GpuStream, const Volume&, const float*, float*, bool);
template void NormLayers::bias_backward(GpuStream, const Volume&, const BFloat16*, float*, bool);
template void NormLayers::bias_backward(GpuStream, const Volume&, const Float16*, float*, bool);

}  // namespace dllaunch::gpu
