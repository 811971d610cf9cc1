// Backend onednn. Blocked layouts are kept from layer to layer, activations are fused into the
// primitives that produce their input, and weights have the layout of their gradients.
#include <fmt/core.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "support/all_signals_blocked.hpp"
#include "support/fatal.hpp"
#include "support/signal_stack.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/onednn/assemble.hpp"
#include "trainer/backends/onednn/sequences/token_loss.hpp"
#include "trainer/losses/loss.hpp"

namespace dllaunch {
namespace {

using dnnl::memory;
using onednn::BackwardOfNode;
using onednn::BoundParameter;
using onednn::has_isa;
using onednn::Step;

/// Below this many elements a parallel loop costs more than it saves.
constexpr std::int64_t worth_threads = 1 << 15;

/// Calls a function whose oneDNN calls cannot fail once compiled; dies if one does.
template <typename Function>
void or_die(std::string_view what, const Function& function) {
  try {
    function();
  } catch (const dnnl::error& error) {
    die(what, error.what());
  }
}

int usable_cpus() {
  cpu_set_t cpus;
  // Fails if the machine has more CPUs than cpu_set_t can hold.
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : omp_get_num_procs();
}

float* floats(const memory& memory) {
  return static_cast<float*>(memory.get_data_handle());
}

/// x - x is 0 exactly for finite x.
bool has_non_finite(const float* values, std::int64_t count) {
  int found = 0;
#pragma omp parallel for simd reduction(| : found) if (count > worth_threads)
  for (std::int64_t i = 0; i < count; ++i) found |= values[i] - values[i] == 0.F ? 0 : 1;
  return found != 0;
}

void add_to(float* sum, const float* values, std::int64_t count) {
#pragma omp parallel for simd if (count > worth_threads)
  for (std::int64_t i = 0; i < count; ++i) sum[i] += values[i];
}

onednn::Numerics numerics_of(const CompileOptions& options) {
  const bool half = options.precision == Precision::bf16;
  return {.type = half ? memory::data_type::bf16 : memory::data_type::f32,
          .convolution = options.convolution};
}

/// Returns why this precision is not available on this CPU; nullopt if it is.
std::optional<Error> refusal(Precision precision) {
  const std::string what =
      fmt::format("backend onednn does not compute in {}", to_string(precision));
  switch (precision) {
    case Precision::fp32:
      return std::nullopt;
    case Precision::bf16:
      if (has_isa(dnnl::cpu_isa::avx512_core)) return std::nullopt;
      return Error{.kind = ErrorKind::unavailable,
                   .what = what + " on this CPU: it has no AVX-512",
                   .hint = "use fp32"};
    case Precision::fp16:
      return Error{.kind = ErrorKind::bad_request,
                   .what = what + ": oneDNN has no training in it on CPUs",
                   .hint = "use bf16, or fp32"};
    case Precision::fp64:
      break;
    case Precision::tf32:
      return Error{.kind = ErrorKind::bad_request,
                   .what = what + ": it is a format of GPUs",
                   .hint = "use fp32"};
  }
  return Error{.kind = ErrorKind::bad_request, .what = what, .hint = "use backend reference"};
}

/// Keeps signal handlers off the stacks that oneDNN computes on (support/signal_stack.hpp): the
/// calling thread gets a signal stack, OpenMP's other threads start with signals blocked.
void keep_signals_off(int threads) {
  use_signal_stack();
  const AllSignalsBlocked blocked;
  std::atomic<int> started{0};
#pragma omp parallel num_threads(threads)
  started.fetch_add(1, std::memory_order_relaxed);
}

class OneDnnExecutable final : public Executable {
 public:
  OneDnnExecutable(const Graph& graph, const CompileOptions& options)
      : batch_(options.batch),
        threads_(options.threads > 0 ? options.threads : usable_cpus()),
        profile_(options.profile),
        pixels_(elements_of(graph.input_shape())),
        classes_(graph.classes()),
        labels_(graph.labels()),
        loss_(graph.loss),
        joints_(graph.joints),
        slots_(plain_slots(graph)),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        program_(engine_, graph.parameters.size(), numerics_of(options), options.sum_over_ranks) {
    omp_set_num_threads(threads_);  // primitives are created for the current number
    keep_signals_off(threads_);
    assembled_ = onednn::assemble(graph, batch_, program_);
    for (ParameterSlot& slot : slots_) {
      const memory::desc layout = bound(slot).gradient.get_desc();
      slot.elements = layout.get_size() / sizeof(float);
      slot.layout = onednn::describe(layout);
    }
    if (onednn::is_token_loss(graph)) {
      token_loss_.emplace(loss_.label_smoothing, labels_, classes_);
      return;
    }
    if (joints_.output) return;
    logits_.resize(static_cast<std::size_t>(batch_ * labels_ * classes_));
    logit_grads_.resize(logits_.size());
  }

  const std::vector<ParameterSlot>& slots() const override { return slots_; }
  DType dtype() const override { return DType::f32; }

  void attach(std::vector<void*> weights, std::vector<void*> gradients) override {
    assert(weights.size() == slots_.size() && gradients.size() == slots_.size());
    or_die("attach", [&] {
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
        bound(slots_[slot]).weight.set_data_handle(weights[slot]);
        bound(slots_[slot]).gradient.set_data_handle(gradients[slot]);
      }
    });
  }

  void to_plain(int slot, const void* arena, void* plain) const override {
    const BoundParameter& parameter = bound(slots_[static_cast<std::size_t>(slot)]);
    reorder(parameter.gradient.get_desc(), arena, parameter.plain, plain);
  }

  void from_plain(int slot, const void* plain, void* arena) const override {
    const BoundParameter& parameter = bound(slots_[static_cast<std::size_t>(slot)]);
    reorder(parameter.plain, plain, parameter.gradient.get_desc(), arena);
  }

  std::vector<double> buffer(int index) const override {
    return program_.buffers()[static_cast<std::size_t>(index)];
  }
  void set_buffer(int index, std::span<const double> values) override {
    std::vector<double>& buffer = program_.buffers()[static_cast<std::size_t>(index)];
    assert(values.size() == buffer.size());
    buffer.assign(values.begin(), values.end());
  }

  ForwardResult forward(const Batch& batch, Phase phase) override {
    count_ = batch.count;
    program_.call() = {.rows = batch.count, .train = phase == Phase::train, .random = batch.random};
    omp_set_num_threads(threads_);
    take_images(batch);
    run(assembled_.forward);
    stream_.wait();

    ForwardResult result = evaluate(batch);
    if (hides_non_finite()) result.loss_sum = std::numeric_limits<double>::quiet_NaN();
    return result;
  }

  void backward(double scale, bool accumulate, const ReadyCallback& on_ready) override {
    omp_set_num_threads(threads_);
    float* logit_grads = floats(assembled_.logit_grads);
    const auto present = count_ * labels_ * classes_;
    if (joints_.output) {
      // set_output_gradient() has written them.
    } else if (token_loss_) {
      token_loss_->write_gradients(floats(assembled_.logits), logit_grads, scale);
    } else {
      std::transform(logit_grads_.begin(), logit_grads_.begin() + present, logit_grads,
                     [scale](double value) { return static_cast<float>(scale * value); });
    }
    std::fill(logit_grads + present, logit_grads + batch_ * labels_ * classes_, 0.F);
    program_.call().accumulate = accumulate;

    for (BackwardOfNode& node : assembled_.backward) {
      accumulate && !node.adds_gradients ? add_gradients(node) : run(node.parameters);
      for (const auto& [slot, parameter] : node.slots) on_ready(slot);
      for (Step& step : node.input) {
        run(step);
        on_ready(no_slot);
      }
    }
    stream_.wait();
  }

  std::string first_non_finite(const Batch& batch) override {
    omp_set_num_threads(threads_);
    take_images(batch);
    if (has_non_finite(floats(assembled_.input), count_ * pixels_)) return "input";
    // Outputs share memory, so all are recomputed, with the statistics of that pass.
    program_.call().repeat = true;
    std::string first;
    std::size_t next = 0;
    for (const onednn::NodeOutput& output : assembled_.outputs) {
      while (next < output.steps) run(assembled_.forward[next++]);
      stream_.wait();
      if (!first.empty()) continue;
      // Check the weights too: a fused ReLU would hide a NaN.
      const bool weights = std::ranges::any_of(output.parameters, [this](int parameter) {
        return is_non_finite(program_.parameters()[static_cast<std::size_t>(parameter)].weight);
      });
      if (weights || is_non_finite(output.y)) first = output.node;
    }
    // Finish the pass: backward() may follow.
    while (next < assembled_.forward.size()) run(assembled_.forward[next++]);
    stream_.wait();
    program_.call().repeat = false;
    return first;
  }

  std::vector<double> logits() const override {
    const auto* const logits = floats(assembled_.logits);
    return {logits, logits + count_ * labels_ * classes_};
  }

  void read_output(std::span<float> plain) const override {
    std::copy_n(floats(assembled_.logits), count_ * labels_ * classes_, plain.begin());
  }
  void set_output_gradient(std::span<const float> plain) override {
    std::copy_n(plain.begin(), count_ * labels_ * classes_, floats(assembled_.logit_grads));
  }
  void read_input_gradient(std::span<float> plain) const override {
    std::copy_n(floats(assembled_.input_grads), count_ * pixels_, plain.begin());
  }

  void parallel_for(int count, const std::function<void(int)>& function) const override {
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (int i = 0; i < count; ++i) function(i);
  }

  std::string remark() const override {
    const bool half = program_.numerics().type == memory::data_type::bf16;
    if (!half || has_isa(dnnl::cpu_isa::avx512_core_bf16)) return {};
    return "precision bf16: this CPU has no bfloat16 instructions, oneDNN imitates them; fp32 is "
           "faster here";
  }

  std::vector<std::string> steps() const override {
    std::vector<std::string> lines;
    for_each_step(
        [&](const Step& step) { lines.push_back(step.name + ": " + step.implementation); });
    return lines;
  }

  std::vector<double> step_seconds() const override {
    std::vector<double> seconds;
    if (profile_) for_each_step([&](const Step& step) { seconds.push_back(step.seconds); });
    return seconds;
  }

 private:
  ForwardResult evaluate(const Batch& batch) {
    const float* logits = floats(assembled_.logits);
    if (joints_.output) {
      const bool bad = has_non_finite(logits, count_ * labels_ * classes_);
      return {.loss_sum = bad ? std::numeric_limits<double>::quiet_NaN() : 0};
    }
    if (token_loss_) return token_loss_->evaluate(logits, batch);
    const auto size = static_cast<std::size_t>(count_ * labels_ * classes_);
    std::copy_n(logits, size, logits_.begin());
    return evaluate_loss(loss_, batch, std::span(logits_).first(size),
                         std::span(logit_grads_).first(size), labels_);
  }

  /// Zeroes absent images: their gradients are zero too, but 0 * NaN would not be.
  void take_images(const Batch& batch) {
    assert(batch.count >= 0 && batch.count <= batch_);
    assert(static_cast<std::int64_t>(batch.images.size()) >= batch.count * pixels_);
    float* input = floats(assembled_.input);
    std::copy_n(batch.images.data(), batch.count * pixels_, input);
    std::fill(input + batch.count * pixels_, input + batch_ * pixels_, 0.F);
  }

  const BoundParameter& bound(const ParameterSlot& slot) const {
    return program_.parameters()[static_cast<std::size_t>(slot.parameter)];
  }
  BoundParameter& bound(const ParameterSlot& slot) {
    return program_.parameters()[static_cast<std::size_t>(slot.parameter)];
  }

  template <typename Look>
  void for_each_step(const Look& look) const {
    std::ranges::for_each(assembled_.forward, look);
    for (const BackwardOfNode& node : assembled_.backward) {
      std::ranges::for_each(node.parameters, look);
      std::ranges::for_each(node.input, look);
    }
  }

  void run(Step& step) {
    if (!profile_) return or_die(step.name, [&] { step.run(stream_); });
    using Clock = std::chrono::steady_clock;
    const auto before = Clock::now();
    or_die(step.name, [&] {
      step.run(stream_);
      stream_.wait();
    });
    step.seconds += std::chrono::duration<double>(Clock::now() - before).count();
  }
  void run(std::vector<Step>& steps) {
    for (Step& step : steps) run(step);
  }

  /// Accumulates. oneDNN overwrites gradients, so it writes to fresh memory that is then added.
  void add_gradients(BackwardOfNode& node) {
    if (node.parameters.empty()) return;  // frozen, like all before it
    or_die("accumulate", [&] {
      std::vector<void*> homes;
      for (const int parameter : node.gradients) {
        memory& gradient = program_.parameters()[static_cast<std::size_t>(parameter)].gradient;
        memory& fresh = fresh_gradients_[parameter];
        if (!fresh) fresh = program_.allocate_persistent(gradient.get_desc());
        homes.push_back(gradient.get_data_handle());
        gradient.set_data_handle(fresh.get_data_handle());
      }
      run(node.parameters);
      stream_.wait();
      for (std::size_t i = 0; i < homes.size(); ++i) {
        const int parameter = node.gradients[i];
        memory& gradient = program_.parameters()[static_cast<std::size_t>(parameter)].gradient;
        gradient.set_data_handle(homes[i]);
        add_to(static_cast<float*>(homes[i]), floats(fresh_gradients_[parameter]),
               static_cast<std::int64_t>(gradient.get_desc().get_size() / sizeof(float)));
      }
    });
  }

  /// Whether the input or a weight is not finite. On x86 max(NaN, 0) is 0, so oneDNN's ReLU and max
  /// pooling would hide it; `reference` passes NaN through.
  bool hides_non_finite() const {
    if (has_non_finite(floats(assembled_.input), count_ * pixels_)) return true;
    return std::any_of(slots_.begin(), slots_.end(), [this](const ParameterSlot& slot) {
      return has_non_finite(floats(bound(slot).weight), static_cast<std::int64_t>(slot.elements));
    });
  }

  bool is_non_finite(const memory& from) const {
    const memory::dims dims = onednn::dims_of(from.get_desc());
    std::vector<float> plain(static_cast<std::size_t>(elements_of(dims)));
    reorder(from.get_desc(), from.get_data_handle(), onednn::plain_layout(dims), plain.data());
    return has_non_finite(plain.data(), static_cast<std::int64_t>(plain.size()));
  }

  void reorder(const memory::desc& from_layout, const void* from, const memory::desc& to_layout,
               void* to) const {
    or_die("reorder", [&] {
      dnnl::stream stream(engine_);
      memory source(from_layout, engine_, const_cast<void*>(from));
      memory target(to_layout, engine_, to);
      dnnl::reorder(source, target).execute(stream, source, target);
      stream.wait();
    });
  }

  int batch_;
  int threads_;
  bool profile_;
  std::int64_t pixels_;  // elements of an image: all channels
  std::int64_t classes_;
  std::int64_t labels_;  // of an image
  LossChoice loss_;
  Joints joints_;
  std::optional<onednn::TokenLoss> token_loss_;  // instead of the vectors below
  std::vector<ParameterSlot> slots_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  onednn::Program program_;
  onednn::Assembled assembled_;
  std::unordered_map<int, memory> fresh_gradients_;  // per parameter, allocated on first use
  std::vector<double> logits_;                       // [batch, labels, classes]
  std::vector<double> logit_grads_;                  // likewise: d(loss_sum)/d(logits)
  int count_ = 0;                                    // images of the latest forward()
};

class OneDnnBackend final : public Backend {
 public:
  Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                              const CompileOptions& options) override {
    if (auto refused = refusal(options.precision)) return *std::move(refused);
    try {
      return std::unique_ptr<Executable>(std::make_unique<OneDnnExecutable>(graph, options));
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
      return Error{.kind = ErrorKind::unavailable,
                   .what = fmt::format("oneDNN cannot run model {}: {}", graph.model, error.what()),
                   .hint = {}};
    }
  }
};

std::string version() {
  const auto* const library = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", library->major, library->minor, library->patch);
}

constexpr std::array precisions{Precision::fp32, Precision::bf16};

Result<std::unique_ptr<Backend>> open() {
  return std::unique_ptr<Backend>(std::make_unique<OneDnnBackend>());
}

}  // namespace

extern const BackendEntry onednn_backend;
const BackendEntry onednn_backend{
    .name = "onednn", .device = "cpu", .version = version, .open = open, .precisions = precisions};

}  // namespace dllaunch
