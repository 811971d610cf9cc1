#include "trainer/backends/gpu/step/gpu_executable.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/rank/rank_env.hpp"
#include "support/position.hpp"
#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/kernel_list.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/layers/activations.hpp"
#include "trainer/backends/gpu/layers/attention_layers.hpp"
#include "trainer/backends/gpu/layers/dropout_masks.hpp"
#include "trainer/backends/gpu/layers/image_input.hpp"
#include "trainer/backends/gpu/layers/library_layers.hpp"
#include "trainer/backends/gpu/layers/loss_layer.hpp"
#include "trainer/backends/gpu/layers/norm_layers.hpp"
#include "trainer/backends/gpu/layers/stage_joints.hpp"
#include "trainer/backends/gpu/layers/token_layers.hpp"
#include "trainer/backends/gpu/layers/weight_copies.hpp"
#include "trainer/backends/gpu/memory/parameter_memory.hpp"
#include "trainer/backends/gpu/memory/pinned_pool.hpp"
#include "trainer/backends/gpu/plan/backward_pieces.hpp"
#include "trainer/backends/gpu/step/graph_capture.hpp"
#include "trainer/backends/gpu/step/node_arrays.hpp"
#include "trainer/backends/gpu/update/gpu_arenas.hpp"

namespace dllaunch::gpu {
namespace {

/// The input with a row per sample: sequences, of which each token is one, lie in memory as they
/// are in a batch.
Volume samples(const Volume& input, std::int64_t batch) {
  if (input.rows == batch) return input;
  return {.rows = batch, .channels = input.elements() / batch};
}

/// Always computes a full batch, since library plans are made for it. Absent images are zeros at
/// the input and have no gradient; values there are NaN only if others are.
template <typename T>
class GpuExecutable final : public Executable {
 public:
  GpuExecutable(Graph graph, CompileOptions options, bool captures)
      : graph_(std::move(graph)),
        options_(std::move(options)),
        captures_(captures),
        plan_(plan_steps(graph_, options_.batch)),
        parameters_(graph_),
        norms_(graph_, plan_, options_.sum_over_ranks, memory_),
        joints_(graph_, plan_, options_.batch, memory_),
        images_(samples(plan_.nodes.front().shape, options_.batch), memory_),
        masks_(graph_, memory_),
        weights_(graph_, dtype_of(T{}), parameters_, memory_),
        library_layers_(memory_),
        token_layers_(graph_, plan_, dtype_of(T{}), memory_),
        attention_layers_(graph_, plan_, memory_),
        arrays_(graph_, plan_, activations_, parameters_, weights_),
        schedule_(graph_) {
    if (graph_.joints.output) return;
    loss_.emplace(graph_.loss, options_.batch, graph_.classes(), memory_, graph_.labels());
  }

  std::optional<Error> prepare(MathLibrary& library) {
    reserve();
    library_layers_.reserve(graph_, plan_, dtype_of(T{}));
    attention_layers_.reserve(dtype_of(T{}));
    place_batch(memory_, options_.batch);  // before engines are tried on whole batches
    if (auto error = library_layers_.make(library, graph_, plan_, numerics(), options_))
      return error;
    if (auto error = attention_layers_.make(library, numerics())) return error;
    const std::size_t bytes = place_batch(memory_, options_.batch);
    if (memory_.allocate() != gpu_success) {
      throw OutOfGpuMemory(too_much_memory(options_.batch, bytes, free_bytes()));
    }
    arenas_.set_activation_memory(options_.batch, bytes);
    norms_.start();
    images_.start();
    return std::nullopt;
  }

  const std::vector<ParameterSlot>& slots() const override { return parameters_.slots(); }
  DType dtype() const override { return DType::f32; }
  void attach(std::vector<void*> weights, std::vector<void*> gradients) override {
    const std::size_t refused = parameters_.attach(std::move(weights), std::move(gradients));
    if (refused > 0) arenas_.refuse_copies(refused);
    graph_capture_.clear();
  }
  void hold_ready_until(std::span<const int> slots) override { schedule_.hold_until(slots); }
  void to_plain(int slot, const void* arena, void* plain) const override {
    parameters_.to_plain(slot, arena, plain);
  }
  void from_plain(int slot, const void* plain, void* arena) const override {
    parameters_.from_plain(slot, plain, arena);
  }
  std::vector<double> buffer(int i) const override { return norms_.buffer(i); }
  void set_buffer(int i, std::span<const double> values) override { norms_.set_buffer(i, values); }

  ForwardResult forward(const Batch& batch, Phase phase) override {
    take(batch, phase);
    if (loss_) loss_->set_batch(stream_, memory_.at<float>(outputs_), batch);
    const bool trains = phase == Phase::train;
    if (trains) norms_.count_batch(count_);
    run({.kind = trains ? CaptureKey::Kind::train : CaptureKey::Kind::evaluate}, [&] {
      weights_.template take<T>(stream_);
      for (std::size_t n = 1; n < graph_.nodes.size(); ++n) {
        run_forward(n, trains ? NormLayers::Statistics::of_batch : NormLayers::Statistics::running);
      }
      give_output();
    });
    if (before_waiting_) before_waiting_();
    const ForwardResult result = loss_ ? loss_->result(stream_) : joints_.result(stream_);
    images_.prefetch(batch);  // overlaps with the rest of the step
    return result;
  }

  void before_waiting(std::function<void()>&& call) override { before_waiting_ = std::move(call); }

  void backward(double scale, bool accumulate, const ReadyCallback& on_ready) override {
    if (accumulate) parameters_.fetch_gradients(stream_);
    accumulate_ = accumulate;
    if (loss_) loss_->set_scale(stream_, scale);
    for (const BackwardPiece& piece : schedule_.pieces(repeats())) {
      run({CaptureKey::Kind::backward, piece.first_node, piece.last_node, accumulate},
          [&] { run_backward(piece); });
      for (int slot = piece.first_slot; slot < piece.first_slot + piece.slots; ++slot) {
        if (trains(parameters_.slots()[at(slot)].parameter)) {
          parameters_.give_gradient(stream_, slot);
        }
        on_ready(slot);
      }
      if (piece.slots == 0) on_ready(no_slot);
    }
    clock_.backward_ended();
    library_layers_.step_ended();
  }

  std::string first_non_finite(const Batch& batch) override {
    take(batch, Phase::train);
    weights_.template take<T>(stream_);
    std::string first;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (n > 0) run_forward(n, NormLayers::Statistics::unchanged);
      if (!first.empty() || plan_.nodes[n].absorbed || all_finite(n)) continue;
      first = graph_.nodes[n].name;
    }
    give_output();  // arrays share memory
    return first;
  }

  DeviceArenas* device_arenas() override { return &arenas_; }
  StepTimes take_step_times() override { return clock_.take(); }
  std::shared_ptr<std::byte> image_memory(std::size_t bytes) override {
    return pinned_.allocate(bytes);
  }
  bool takes_bytes(const ImageRecipe& recipe) const override { return images_.supports(recipe); }

  void read_output(std::span<float> plain) const override { joints_.read_output(plain); }
  void set_output_gradient(std::span<const float> plain) override {
    joints_.set_output_gradient(plain);
  }
  void read_input_gradient(std::span<float> plain) const override {
    joints_.read_input_gradient(stream_, grad(0), plain);
  }

  std::vector<double> logits() const override {
    if (!loss_) return {};
    std::vector<float> here(static_cast<std::size_t>(count_ * graph_.labels() * graph_.classes()));
    check(gpu_copy(here.data(), memory_.at<float>(outputs_), here.size() * sizeof(float)), "copy");
    return {here.begin(), here.end()};
  }

 private:
  T* value(int n) const { return arrays_.value(n); }
  /// nullptr: not needed.
  T* grad(int n) const { return arrays_.grad(n); }
  const Volume& shape(int n) const { return arrays_.shape(n); }
  int last() const { return static_cast<int>(graph_.nodes.size()) - 1; }
  int input(std::size_t n, std::size_t i = 0) const { return arrays_.input(n, i); }
  Numerics numerics() const {
    return {.type = dtype_of(T{}), .tf32 = options_.precision == Precision::tf32};
  }
  bool trains(int parameter) const { return !graph_.parameters[at(parameter)].frozen; }
  /// Whether the next write to grad(n) must accumulate.
  bool adds(int n) { return schedule_.adds(n); }
  bool adds_gradient(std::size_t n, int parameter) const {
    return accumulate_ || schedule_.shares_gradient(n, parameter);
  }

  void reserve();
  void take(const Batch& batch, Phase phase);
  /// Whether this batch can be captured: a full batch, with nothing computed or stored on the host.
  bool repeats() const {
    return captures_ && count_ == options_.batch && !options_.sum_over_ranks &&
           parameters_.are_on_device();
  }
  template <typename Enqueue>
  void run(const CaptureKey& key, const Enqueue& enqueue) {
    if (!repeats()) return enqueue();
    graph_capture_.run(key, [&](GpuStream stream) {
      stream_ = stream;
      enqueue();
      stream_ = nullptr;
    });
  }
  bool all_finite(std::size_t n);
  void give_output();

  void run_forward(std::size_t n, NormLayers::Statistics statistics) {
    const NodePlan& plan = plan_.nodes[n];
    if (plan.absorbed) return;
    if (plan.norm >= 0) {
      NormPass<T> pass = arrays_.norm_pass(n);
      pass.rows = count_;
      return norms_.forward(stream_, pass, statistics);
    }
    std::visit([&](const auto& op) { forward_of(op, n); }, graph_.nodes[n].op);
  }
  void run_backward(const BackwardPiece& piece);
  void run_backward(std::size_t n) {
    if (plan_.nodes[n].norm >= 0) return run_norm_backward(n);
    std::visit([&](const auto& op) { backward_of(op, n); }, graph_.nodes[n].op);
  }
  void run_norm_backward(std::size_t n);

  void forward_of(const Input&, std::size_t) {}
  void backward_of(const Input&, std::size_t) {}
  void forward_of(const BatchNorm&, std::size_t) {}  // runs as a fused norm
  void backward_of(const BatchNorm&, std::size_t) {}
  void forward_of(const Add&, std::size_t n);
  void backward_of(const Add&, std::size_t n);
  void forward_of(const Dropout& op, std::size_t n);
  void backward_of(const Dropout& op, std::size_t n);
  template <typename Op>
  void forward_of(const Op& op, std::size_t n) {
    if constexpr (Op::traits.weighted) {
      library_forward(n);
    } else if constexpr (TokenLayers::computes<Op>) {
      token_layers_.forward(n, token_pass(n, view(n)));
    } else {
      over(static_cast<int>(n), LayerKernels<Op, T>::forward(op, view(n)));
    }
  }
  template <typename Op>
  void backward_of(const Op& op, std::size_t n) {
    if constexpr (Op::traits.weighted) {
      library_backward(n);
    } else if constexpr (TokenLayers::computes<Op>) {
      token_layers_.backward(n, token_pass(n, backward_view(n)));
    } else {
      const View<T> v = backward_view(n);
      if (v.dx != nullptr) over(input(n), LayerKernels<Op, T>::backward(op, v));
    }
  }
  void forward_of(const Attention&, std::size_t n) {
    attention_layers_.forward(stream_, n, view(n));
  }
  void backward_of(const Attention&, std::size_t n) {
    const View<T> v = backward_view(n);
    if (v.dx != nullptr) attention_layers_.backward(stream_, n, v);
  }
  View<T> view(std::size_t n) const { return arrays_.view(n); }
  /// Also marks the gradient of the input as written.
  View<T> backward_view(std::size_t n) {
    View<T> v = view(n);
    if (v.dx != nullptr) v.add = adds(input(n));
    return v;
  }
  TokenPass<T> token_pass(std::size_t n, const View<T>& view) const;
  LibraryPass<T> library_pass(std::size_t n) const;
  void library_forward(std::size_t n);
  void library_backward(std::size_t n);
  void add_bias(std::size_t n);
  void bias_backward(std::size_t n);
  /// Launches a kernel with one index per element of node n's output.
  template <typename Functor>
  void over(int n, const Functor& functor) {
    launch(stream_, shape(n).elements(), functor);
  }

  Graph graph_;
  CompileOptions options_;
  bool captures_;
  StepPlan plan_;
  GpuStream stream_ = nullptr;  // the default one: NCCL's stream waits for it
  PinnedPool pinned_;
  DeviceMemory memory_;
  ParameterMemory parameters_;
  StepClock clock_;
  GpuArenas arenas_{stream_, clock_};
  NormLayers norms_;
  std::optional<LossLayer> loss_;  // without joints.output
  StageJoints joints_;
  ImageInput images_;
  DropoutMasks masks_;
  WeightCopies weights_;
  LibraryLayers library_layers_;
  TokenLayers token_layers_;
  AttentionLayers attention_layers_;
  Activations activations_;
  NodeArrays<T> arrays_;
  int outputs_ = -1;  // float [batch, labels, classes]; of the loss
  int found_ = -1;    // int
  BackwardSchedule schedule_;
  GraphCapture graph_capture_;
  std::function<void()> before_waiting_;
  bool accumulate_ = false;
  bool has_targets_ = false;
  Phase phase_ = Phase::train;
  int count_ = 0;
};

template <typename T>
void GpuExecutable<T>::reserve() {
  activations_.reserve(graph_, plan_, dtype_of(T{}), memory_);
  found_ = memory_.add(sizeof(int));
  if (!loss_) return;
  const auto outputs = static_cast<std::size_t>(shape(last()).elements()) * sizeof(float);
  // Those of a sequence are large: they end with the gradient of the loss.
  outputs_ =
      graph_.labels() == 1 ? memory_.add(outputs) : memory_.add(outputs, last(), plan_.steps / 2);
}

template <typename T>
void GpuExecutable<T>::take(const Batch& batch, Phase phase) {
  assert(batch.count >= 0 && batch.count <= options_.batch);
  count_ = batch.count;
  joints_.set_count(count_);
  phase_ = phase;
  // Captured loss kernels have the kind of target built in.
  if (has_targets_ != !batch.targets.empty()) graph_capture_.clear();
  has_targets_ = !batch.targets.empty();
  images_.send(batch);
  parameters_.fetch_weights(stream_);
  if (phase == Phase::train) masks_.draw(stream_, batch.random);
  images_.wait(stream_);
  if (phase == Phase::train) clock_.forward_begins();  // not counting the wait for images
  images_.unpack(stream_, value(0), token_layers_.exact_tokens());
}

template <typename T>
void GpuExecutable<T>::run_backward(const BackwardPiece& piece) {
  schedule_.begin(piece);
  if (piece.first_node == last() && plan_.nodes.back().trains) {
    loss_ ? loss_->backward(stream_, grad(last()))
          : joints_.take_output_gradient(stream_, grad(last()));
    adds(last());
  }
  for (int n = piece.first_node; n >= piece.last_node; --n) {
    const NodePlan& plan = plan_.nodes[at(n)];
    if (plan.trains && !plan.absorbed) run_backward(at(n));
  }
  schedule_.end(piece);
}

template <typename T>
void GpuExecutable<T>::give_output() {
  if (!loss_) return joints_.give_output(stream_, value(last()));
  over(last(), Convert<T, float>{value(last()), memory_.at<float>(outputs_), false});
  loss_->compute(stream_);
}

template <typename T>
bool GpuExecutable<T>::all_finite(std::size_t n) {
  auto* const found = memory_.at<int>(found_);
  check(gpu_clear_later(found, sizeof(int), stream_), "clear");
  const Volume& of = plan_.nodes[n].shape;
  launch(stream_, of.elements() / options_.batch * count_,
         FindNonFinite<T>{value(static_cast<int>(n)), found});
  int here = 0;
  check(gpu_copy_later(&here, found, sizeof(int), stream_), "copy");
  check(gpu_synchronise(stream_), "search");
  return here == 0;
}

template <typename T>
void GpuExecutable<T>::run_norm_backward(std::size_t n) {
  NormPass<T> pass = arrays_.norm_backward(n);
  pass.rows = count_;
  if (pass.dx != nullptr) pass.add = adds(graph_.nodes[at(plan_.nodes[n].norm)].inputs.front());
  if (pass.dother != nullptr) pass.add_other = adds(plan_.nodes[n].other);
  pass.add_weights = accumulate_;
  norms_.backward(stream_, pass);
}

template <typename T>
void GpuExecutable<T>::add_bias(std::size_t n) {
  const Node& node = graph_.nodes[n];
  if (node.parameters.size() < 2) return;
  const int y = static_cast<int>(n);
  over(y, AddBias<T>{value(y), parameters_.weight(node.parameters[1]), shape(y).channels});
}

template <typename T>
void GpuExecutable<T>::bias_backward(std::size_t n) {
  const Node& node = graph_.nodes[n];
  if (node.parameters.size() < 2 || !trains(node.parameters[1])) return;
  const int y = static_cast<int>(n);
  norms_.bias_backward(stream_, shape(y), static_cast<const T*>(grad(y)),
                       parameters_.gradient(node.parameters[1]),
                       adds_gradient(n, node.parameters[1]));
}

template <typename T>
LibraryPass<T> GpuExecutable<T>::library_pass(std::size_t n) const {
  LibraryPass<T> pass = arrays_.library_pass(n);
  pass.stream = stream_;
  pass.add_weights = adds_gradient(n, graph_.nodes[n].parameters[0]);
  return pass;
}

template <typename T>
void GpuExecutable<T>::library_forward(std::size_t n) {
  library_layers_.forward(n, library_pass(n));
  add_bias(n);
}

template <typename T>
void GpuExecutable<T>::library_backward(std::size_t n) {
  LibraryPass<T> pass = library_pass(n);
  if (pass.dx != nullptr) pass.add = adds(input(n));
  bias_backward(n);
  library_layers_.backward(n, pass);
}

template <typename T>
TokenPass<T> GpuExecutable<T>::token_pass(std::size_t n, const View<T>& view) const {
  TokenPass<T> pass = arrays_.token_pass(n, view);
  pass.stream = stream_;
  pass.add_weights = adds_gradient(n, graph_.nodes[n].parameters[0]);
  return pass;
}

template <typename T>
void GpuExecutable<T>::forward_of(const Add&, std::size_t n) {
  const int y = static_cast<int>(n);
  over(y, SumOfTwo<T>{value(input(n, 0)), value(input(n, 1)), value(y)});
}

template <typename T>
void GpuExecutable<T>::backward_of(const Add&, std::size_t n) {
  for (const int x : graph_.nodes[n].inputs) {
    if (grad(x) == nullptr) continue;
    over(x, Convert<T, T>{grad(static_cast<int>(n)), grad(x), adds(x)});
  }
}

template <typename T>
void GpuExecutable<T>::forward_of(const Dropout& op, std::size_t n) {
  const View<T> v = view(n);
  const int y = static_cast<int>(n);
  if (phase_ == Phase::evaluate) return over(y, Convert<T, T>{v.x, v.y, false});
  over(y, Drop<T>{v.x, v.y, v.out, masks_.at(n), DropoutMasks::scale(op), false});
}

template <typename T>
void GpuExecutable<T>::backward_of(const Dropout& op, std::size_t n) {
  const View<T> v = backward_view(n);
  if (v.dx == nullptr) return;
  over(input(n), Drop<T>{v.dy, v.dx, v.in, masks_.at(n), DropoutMasks::scale(op), v.add});
}

template <typename T>
Result<std::unique_ptr<Executable>> compiled(const Graph& graph, const CompileOptions& options,
                                             MathLibrary& library) {
  const bool captures = process_environment()("DLLAUNCH_GPU_GRAPHS") != "off";
  auto executable = std::make_unique<GpuExecutable<T>>(graph, options, captures);
  if (auto error = executable->prepare(library)) return *std::move(error);
  return std::unique_ptr<Executable>(std::move(executable));
}

}  // namespace

Result<std::unique_ptr<Executable>> compile_for_gpu(std::string_view backend, const Graph& graph,
                                                    const CompileOptions& options,
                                                    MathLibrary& library) {
  if (auto error = graph_error(graph)) return *std::move(error);
  if (options.precision == Precision::fp32 || options.precision == Precision::tf32) {
    return compiled<float>(graph, options, library);
  }
  if (options.precision == Precision::bf16) return compiled<BFloat16>(graph, options, library);
  if (options.precision == Precision::fp16) return compiled<Float16>(graph, options, library);
  return Error{ErrorKind::bad_request,
               fmt::format("backend {} has no precision {}", backend, to_string(options.precision)),
               "use fp32, tf32, bf16 or fp16"};
}

}  // namespace dllaunch::gpu
