#include "trainer/backends/gpu/layers/library_layers.hpp"

#include <algorithm>
#include <utility>

#include "support/position.hpp"
#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/layers/engine_book.hpp"

namespace dllaunch::gpu {

std::optional<Error> LibraryLayers::make(MathLibrary& library, const Graph& graph,
                                         const StepPlan& plan, const Numerics& numerics,
                                         const CompileOptions& options) {
  const auto book = library.engine_book();
  if (book == nullptr) return make_all(library, graph, plan, numerics);
  book->warn_through(options.warn);
  SharedChoices* const choices = options.choices;
  const bool follows = choices != nullptr && !choices->decides();
  if (follows) book->follow(choices->share(""));
  if (auto error = make_all(library, graph, plan, numerics)) return error;
  if (follows) return std::nullopt;
  book->tell_relaxations();
  if (choices != nullptr) {
    choices->share(book->text());
    stores_ = book;
  }
  return std::nullopt;
}

void LibraryLayers::reserve(const Graph& graph, const StepPlan& plan, DType type) {
  std::size_t weights = 0;
  std::size_t inputs = 0;
  for (const Node& node : graph.nodes) {
    if (!traits_of(node.op).weighted || std::holds_alternative<Dense>(node.op)) continue;
    const Parameter& weight = graph.parameters[at(node.parameters.front())];
    const Volume& input = plan.nodes[at(node.inputs.front())].shape;
    weights = std::max(weights, static_cast<std::size_t>(elements_of(weight.shape)));
    inputs = std::max(inputs, static_cast<std::size_t>(input.elements()));
  }
  weight_grad_ = memory_.add(weights * bytes_of(type));
  input_grad_ = memory_.add(inputs * bytes_of(type));
}

void LibraryLayers::step_ended() {
  if (stores_ != nullptr) std::exchange(stores_, nullptr)->save();
}

std::optional<Error> LibraryLayers::make_all(MathLibrary& library, const Graph& graph,
                                             const StepPlan& plan, const Numerics& numerics) {
  layers_.resize(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    auto error = std::visit(
        [&]<typename Kind>(const Kind&) -> std::optional<Error> {
          if constexpr (std::is_same_v<Kind, Dense>) {
            return make_dense(library, graph, plan, numerics, n);
          } else if constexpr (requires(Kind kind) { kind.kernel; } && Kind::traits.weighted) {
            return make_convolution(library, graph, plan, numerics, n);
          } else {
            static_assert(!Kind::traits.weighted, "no library computes this kind of layer");
            return std::nullopt;
          }
        },
        graph.nodes[n].op);
    if (error) return std::move(*error).within(graph.nodes[n].name);
  }
  workspace_ = memory_.add(workspace_bytes_);
  return std::nullopt;
}

template <typename T>
void LibraryLayers::forward(std::size_t node, const LibraryPass<T>& pass) {
  const LibraryLayer& layer = layers_[node];
  auto* const workspace = memory_.at<void*>(workspace_);
  if (layer.convolution != nullptr) {
    layer.convolution->forward(pass.stream, pass.x, pass.weight, pass.y, workspace);
  } else {
    layer.forward->run(pass.stream, pass.x, pass.weight, pass.y, false, workspace);
  }
}

template <typename T>
void LibraryLayers::backward(std::size_t node, const LibraryPass<T>& pass) {
  const auto& [convolution, weights, inputs, input_major, unused, backward_data, backward_weights] =
      layers_[node];
  auto* const workspace = memory_.at<void*>(workspace_);
  if (convolution == nullptr) {
    if (pass.dweight != nullptr) {
      backward_weights->run(pass.stream, input_major ? pass.x : pass.dy,
                            input_major ? pass.dy : pass.x, pass.dweight, pass.add_weights,
                            workspace);
    }
    if (pass.dx == nullptr) return;
    return backward_data->run(pass.stream, pass.dy, pass.weight, pass.dx, pass.add, workspace);
  }
  if (pass.dweight != nullptr) {
    auto* const dw = memory_.at<T>(weight_grad_);
    convolution->backward_weights(pass.stream, pass.x, pass.dy, dw, workspace);
    launch(pass.stream, weights, Convert<T, float>{dw, pass.dweight, pass.add_weights});
  }
  if (pass.dx == nullptr) return;
  T* const dx = pass.add ? memory_.at<T>(input_grad_) : pass.dx;
  convolution->backward_data(pass.stream, pass.dy, pass.weight, dx, workspace);
  if (pass.add) launch(pass.stream, inputs, Convert<T, T>{dx, pass.dx, true});
}

template void LibraryLayers::forward(std::size_t, const LibraryPass<float>&);
template void LibraryLayers::forward(std::size_t, const LibraryPass<BFloat16>&);
template void LibraryLayers::forward(std::size_t, const LibraryPass<Float16>&);
template void LibraryLayers::backward(std::size_t, const LibraryPass<float>&);
template void LibraryLayers::backward(std::size_t, const LibraryPass<BFloat16>&);
template void LibraryLayers::backward(std::size_t, const LibraryPass<Float16>&);

std::optional<Error> LibraryLayers::make_convolution(MathLibrary& library, const Graph& graph,
                                                     const StepPlan& plan, const Numerics& numerics,
                                                     std::size_t n) {
  const Node& node = graph.nodes[n];
  const NodePlan& input = plan.nodes[at(node.inputs.front())];
  const Parameter& weight = graph.parameters[at(node.parameters.front())];
  const ConvolutionShape shape{.type = numerics.type,
                               .tf32 = numerics.tf32,
                               .x = input.shape,
                               .y = plan.nodes[n].shape,
                               .window = window_of(node.op),
                               .backward_data = input.trains,
                               .backward_weights = !weight.frozen};
  std::shared_ptr<Convolution>& shared =
      convolutions_[{text_of(shape, Pass::forward), shape.backward_data, shape.backward_weights}];
  if (shared == nullptr) {
    auto made = library.convolution(shape);
    if (!made) return std::move(made).error();
    shared = *std::move(made);
    workspace_bytes_ = std::max(workspace_bytes_, shared->workspace());
  }
  LibraryLayer& layer = layers_[n];
  layer = {.convolution = shared,
           .weights = elements_of(weight.shape),
           .inputs = input.shape.elements()};
  return std::nullopt;
}

std::optional<Error> LibraryLayers::make_dense(MathLibrary& library, const Graph& graph,
                                               const StepPlan& plan, const Numerics& numerics,
                                               std::size_t n) {
  const Volume& x = plan.nodes[at(graph.nodes[n].inputs.front())].shape;
  const std::int64_t units = plan.nodes[n].shape.channels;
  const auto [type, tf32] = numerics;
  const bool input_major = std::get<Dense>(graph.nodes[n].op).input_major;
  layers_[n].input_major = input_major;
  const std::int64_t outer = input_major ? x.channels : units;  // of the weight's axes
  const std::int64_t inner = input_major ? units : x.channels;
  // Weight gradients are written to the arena, which is float.
  const std::pair<MatmulShape, std::unique_ptr<Matmul>*> wanted[] = {
      {{x.rows, units, x.channels, false, !input_major, type, type, tf32}, &layers_[n].forward},
      {{x.rows, x.channels, units, false, input_major, type, type, tf32},
       &layers_[n].backward_data},
      {{outer, inner, x.rows, true, false, type, DType::f32, tf32}, &layers_[n].backward_weights}};
  for (const auto& [shape, matmul] : wanted) {
    auto made = library.matmul(shape);
    if (!made) return std::move(made).error();
    workspace_bytes_ = std::max(workspace_bytes_, (*made)->workspace());
    *matmul = *std::move(made);
  }
  return std::nullopt;
}

}  // namespace dllaunch::gpu
