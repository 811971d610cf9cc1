// Backend reference: defines what a graph computes. Node by node, image by image, single-threaded.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/reference/batch_norm.hpp"
#include "trainer/graph/dropout.hpp"
#include "trainer/losses/loss.hpp"

namespace dllaunch {
namespace {

constexpr DType dtype_of(float) {
  return DType::f32;
}
constexpr DType dtype_of(double) {
  return DType::f64;
}

/// Copies the first `count` values, rounded if `to` has fewer bits.
template <typename From, typename To>
void copy_as(const From& from, std::size_t count, To&& to) {
  std::transform(
      from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count), to.begin(),
      [](auto value) { return static_cast<typename std::decay_t<To>::value_type>(value); });
}

/// Processes images in order, so a weight's gradient is a sum in row order: it depends on the
/// images, not on CompileOptions::batch.
template <typename Real>
class ReferenceExecutable final : public Executable {
 public:
  ReferenceExecutable(Graph graph, const CompileOptions& options)
      : graph_(std::move(graph)),
        batch_(options.batch),
        sum_over_ranks_(options.sum_over_ranks),
        slots_(plain_slots(graph_)) {
    const auto rows = static_cast<std::size_t>(batch_);
    for (const Node& node : graph_.nodes) {
      const auto size = static_cast<std::size_t>(elements_of(node.shape));
      outputs_.emplace_back(rows * size);
      output_grads_.emplace_back(rows * size);
    }
    outputs_per_row_ = graph_.labels() * graph_.classes();
    logits_.resize(rows * static_cast<std::size_t>(outputs_per_row_));
    logit_grads_.resize(logits_.size());
    weights_.resize(graph_.parameters.size());
    gradients_.resize(graph_.parameters.size());
    statistics_.resize(graph_.nodes.size());
    for (const Buffer& buffer : graph_.buffers) {
      buffers_.emplace_back(static_cast<std::size_t>(elements_of(buffer.shape)), buffer.initial);
    }
  }

  const std::vector<ParameterSlot>& slots() const override { return slots_; }
  DType dtype() const override { return dtype_of(Real{}); }

  void attach(std::vector<void*> weights, std::vector<void*> gradients) override {
    assert(weights.size() == slots_.size() && gradients.size() == slots_.size());
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      const auto parameter = static_cast<std::size_t>(slots_[slot].parameter);
      weights_[parameter] = static_cast<Real*>(weights[slot]);
      gradients_[parameter] = static_cast<Real*>(gradients[slot]);
    }
  }

  void to_plain(int slot, const void* arena, void* plain) const override {
    copy_slot(slot, arena, plain);
  }
  void from_plain(int slot, const void* plain, void* arena) const override {
    copy_slot(slot, plain, arena);
  }

  std::vector<double> buffer(int index) const override {
    return buffers_[static_cast<std::size_t>(index)];
  }
  void set_buffer(int index, std::span<const double> values) override {
    std::vector<double>& buffer = buffers_[static_cast<std::size_t>(index)];
    assert(values.size() == buffer.size());
    buffer.assign(values.begin(), values.end());
  }

  ForwardResult forward(const Batch& batch, Phase phase) override {
    assert(batch.count >= 0 && batch.count <= batch_);
    count_ = batch.count;
    random_ = batch.random;
    assert(std::max(batch.images.size(), batch.doubles.size()) >= inputs());
    if (batch.doubles.empty()) {
      copy_as(batch.images, inputs(), outputs_.front());
    } else {
      copy_as(batch.doubles, inputs(), outputs_.front());
    }

    for (std::size_t n = 1; n < graph_.nodes.size(); ++n) {
      std::visit([&](const auto& op) { run_forward(op, n, phase); }, graph_.nodes[n].op);
    }
    const std::size_t logits = outputs();
    std::copy_n(outputs_.back().begin(), logits, logits_.begin());
    if (graph_.joints.output) return {.loss_sum = zero_if_finite(logits)};
    return evaluate_loss(graph_.loss, batch, std::span(logits_).first(logits),
                         std::span(logit_grads_).first(logits), graph_.labels());
  }

  void backward(double scale, bool accumulate, const ReadyCallback& on_ready) override {
    if (!accumulate) clear_gradients();
    for (auto& grads : output_grads_) std::ranges::fill(grads, Real{0});
    const double by = graph_.joints.output ? 1 : scale;
    std::transform(logit_grads_.begin(), logit_grads_.end(), output_grads_.back().begin(),
                   [by](double grad) { return static_cast<Real>(by * grad); });

    int slot = 0;
    for (std::size_t n = graph_.nodes.size() - 1; n > 0; --n) {
      std::visit([&](const auto& op) { run_backward(op, n); }, graph_.nodes[n].op);
      const Node& node = graph_.nodes[n];
      const std::size_t finished = node.shares ? 0 : node.parameters.size();
      for (std::size_t p = 0; p < finished; ++p) on_ready(slot++);
      if (finished == 0) on_ready(no_slot);
    }
  }

  std::string first_non_finite(const Batch&) override {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto size = count_ * elements_of(graph_.nodes[n].shape);
      const auto* const y = outputs_[n].data();
      if (!std::all_of(y, y + size, [](Real value) { return std::isfinite(value); })) {
        return graph_.nodes[n].name;
      }
    }
    return {};
  }

  std::vector<double> logits() const override {
    return {logits_.begin(), logits_.begin() + count_ * outputs_per_row_};
  }

  void read_output(std::span<float> plain) const override { copy_as(logits_, outputs(), plain); }
  void set_output_gradient(std::span<const float> plain) override {
    copy_as(plain, outputs(), logit_grads_);
  }
  void read_input_gradient(std::span<float> plain) const override {
    copy_as(output_grads_.front(), inputs(), plain);
  }
  void read_output_f64(std::span<double> plain) const override {
    copy_as(logits_, outputs(), plain);
  }
  void set_output_gradient_f64(std::span<const double> plain) override {
    copy_as(plain, outputs(), logit_grads_);
  }
  void read_input_gradient_f64(std::span<double> plain) const override {
    copy_as(output_grads_.front(), inputs(), plain);
  }

 private:
  /// Elements of the latest forward().
  std::size_t inputs() const {
    return static_cast<std::size_t>(count_ * elements_of(graph_.input_shape()));
  }
  std::size_t outputs() const { return static_cast<std::size_t>(count_ * outputs_per_row_); }

  double zero_if_finite(std::size_t outputs) const {
    double sum = 0;
    for (std::size_t i = 0; i < outputs; ++i) sum += 0 * logits_[i];
    return sum;
  }

  template <typename Op>
  void run_forward(const Op& op, std::size_t n, Phase) {
    for (int row = 0; row < count_; ++row) reference::forward(op, view(n, row));
  }
  template <typename Op>
  void run_backward(const Op& op, std::size_t n) {
    for (int row = 0; row < count_; ++row) reference::backward(op, view(n, row));
  }

  void run_forward(const BatchNorm& op, std::size_t n, Phase phase) {
    const Node& node = graph_.nodes[n];
    reference::BatchStatistics& statistics = statistics_[n];
    const auto buffer = [&](std::size_t i) -> std::vector<double>& {
      return buffers_[static_cast<std::size_t>(node.buffers[i])];
    };
    statistics.mean.resize(buffer(0).size());
    statistics.inv_std.resize(buffer(0).size());
    statistics.running_mean.swap(buffer(0));
    statistics.running_var.swap(buffer(1));
    reference::forward(op, rows(n), phase == Phase::train, sum_over_ranks_, statistics);
    statistics.running_mean.swap(buffer(0));
    statistics.running_var.swap(buffer(1));
    if (phase == Phase::train && statistics.count > 0) buffer(2)[0] += 1;
  }
  void run_backward(const BatchNorm& op, std::size_t n) {
    reference::backward(op, rows(n), statistics_[n], sum_over_ranks_);
  }

  void run_forward(const Dropout& op, std::size_t n, Phase phase) {
    const reference::View<Real> v = view(n, 0);
    const auto elements = static_cast<std::uint64_t>(count_ * elements_of(v.y_shape));
    if (phase == Phase::evaluate) {
      std::copy_n(v.x, elements, v.y);
      return;
    }
    const DropoutMask mask(random_, graph_.nodes[n].name, op.rate);
    const auto scale = static_cast<Real>(1 / (1 - op.rate));
    for (std::uint64_t i = 0; i < elements; ++i) v.y[i] = mask.keeps(i) ? v.x[i] * scale : 0;
  }
  void run_backward(const Dropout& op, std::size_t n) {
    const reference::View<Real> v = view(n, 0);
    if (v.dx == nullptr) return;
    const auto elements = static_cast<std::uint64_t>(count_ * elements_of(v.y_shape));
    const DropoutMask mask(random_, graph_.nodes[n].name, op.rate);
    const auto scale = static_cast<Real>(1 / (1 - op.rate));
    for (std::uint64_t i = 0; i < elements; ++i) v.dx[i] += mask.keeps(i) ? v.dy[i] * scale : 0;
  }

  /// Returns the arrays of node n, a batch normalisation.
  reference::Rows<Real> rows(std::size_t n) {
    const reference::View<Real> first = view(n, 0);
    return {.rows = count_,
            .channels = first.x_shape[0],
            .pixels = elements_of(first.x_shape) / first.x_shape[0],
            .x = first.x,
            .y = first.y,
            .weight = first.weight,
            .bias = first.bias,
            .dx = first.dx,
            .dy = first.dy,
            .dweight = first.dweight,
            .dbias = first.dbias};
  }

  /// Returns the arrays of node n for image `row`.
  reference::View<Real> view(std::size_t n, int row) {
    const Node& node = graph_.nodes[n];
    const auto input = static_cast<std::size_t>(node.inputs.front());
    const Shape& x_shape = graph_.nodes[input].shape;
    const auto x_at = row * elements_of(x_shape);
    const auto y_at = row * elements_of(node.shape);
    reference::View<Real> v{.x_shape = x_shape, .y_shape = node.shape};
    v.x = outputs_[input].data() + x_at;
    v.y = outputs_[n].data() + y_at;
    const std::size_t constant =
        graph_.joints.input ? graph_.nodes.size() : 0;  // needs no gradient
    v.dx = input == constant ? nullptr : output_grads_[input].data() + x_at;
    v.dy = output_grads_[n].data() + y_at;
    if (node.inputs.size() > 1) {
      const auto other = static_cast<std::size_t>(node.inputs[1]);
      v.other_x = outputs_[other].data() + x_at;
      v.other_dx = other == constant ? nullptr : output_grads_[other].data() + x_at;
    }
    for (std::size_t i = 0; i < node.parameters.size(); ++i) {
      const auto parameter = static_cast<std::size_t>(node.parameters[i]);
      (i > 0 ? v.bias : v.weight) = weights_[parameter];
      (i > 0 ? v.dbias : v.dweight) = gradients_[parameter];
    }
    return v;
  }

  void clear_gradients() {
    for (const ParameterSlot& slot : slots_) {
      std::fill_n(gradients_[static_cast<std::size_t>(slot.parameter)], slot.elements, Real{0});
    }
  }

  void copy_slot(int slot, const void* from, void* to) const {
    std::copy_n(static_cast<const Real*>(from), slots_[static_cast<std::size_t>(slot)].elements,
                static_cast<Real*>(to));
  }

  Graph graph_;
  int batch_;
  std::int64_t outputs_per_row_ = 0;  // labels times classes
  SumOverRanks sum_over_ranks_;
  std::vector<ParameterSlot> slots_;
  std::vector<Real*> weights_;              // per parameter
  std::vector<Real*> gradients_;            // per parameter
  std::vector<std::vector<Real>> outputs_;  // per node [batch, shape]
  std::vector<std::vector<Real>>
      output_grads_;  // per node [batch, shape]: d(scale * loss_sum)/d(output)
  std::vector<std::vector<double>> buffers_;            // per buffer
  std::vector<reference::BatchStatistics> statistics_;  // per node
  std::vector<double> logits_;                          // [batch, labels, classes]
  std::vector<double> logit_grads_;  // [batch, labels, classes]: d(loss_sum)/d(logits)
  std::uint64_t random_ = 0;         // of the latest forward()
  int count_ = 0;                    // images of the latest forward()
};

class ReferenceBackend final : public Backend {
 public:
  Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                              const CompileOptions& options) override {
    switch (options.precision) {
      case Precision::fp32:
        return std::unique_ptr<Executable>(
            std::make_unique<ReferenceExecutable<float>>(graph, options));
      case Precision::fp64:
        return std::unique_ptr<Executable>(
            std::make_unique<ReferenceExecutable<double>>(graph, options));
      case Precision::tf32:
      case Precision::bf16:
      case Precision::fp16:
        break;
    }
    return Error{
        .kind = ErrorKind::bad_request,
        .what = fmt::format("backend reference has no precision {}", to_string(options.precision)),
        .hint = "use fp32 or fp64"};
  }
};

constexpr std::array precisions{Precision::fp32, Precision::fp64};

Result<std::unique_ptr<Backend>> open() {
  return std::unique_ptr<Backend>(std::make_unique<ReferenceBackend>());
}

}  // namespace

extern const BackendEntry reference_backend;
const BackendEntry reference_backend{.name = "reference",
                                     .device = "cpu",
                                     .version = [] { return std::string("plain loops"); },
                                     .open = open,
                                     .precisions = precisions};

}  // namespace dllaunch
