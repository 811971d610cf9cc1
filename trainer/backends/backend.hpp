// The interface of backends: a backend compiles a graph into something that runs.
// It knows no vendor's library and no training loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"
#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// tf32: GPUs only; float, but products round their inputs to 10 mantissa bits. fp64: only
/// `reference`.
enum class Precision { fp32, fp64, tf32, bf16, fp16 };
std::string_view to_string(Precision precision);

/// Convolution algorithm, if the backend has a choice. Winograd needs fewer multiplications but has
/// larger rounding errors.
enum class ConvolutionAlgorithm { automatic, direct, winograd };

/// Sums `values` over all ranks in place, bit-identical on every rank. Called on the thread that
/// runs the executable; blocks for the other ranks.
using SumOverRanks = std::function<void(std::span<double> values)>;

/// Makes the ranks of a job compute alike where a backend chooses by measuring: rank 0 decides, the
/// others follow.
class SharedChoices {
 public:
  virtual ~SharedChoices() = default;
  virtual bool decides() const = 0;  // whether this is rank 0
  /// Collective, at most once per compile(): gives rank 0's text to all, and ignores that of the
  /// others. Empty if rank 0 failed or has no choice.
  virtual std::string share(std::string mine) = 0;
};

struct CompileOptions {
  int batch = 32;  // maximum images per call
  Precision precision = Precision::fp32;
  int threads = 0;  // 0: one per CPU available to the process
  ConvolutionAlgorithm convolution = ConvolutionAlgorithm::automatic;
  /// If set, batch normalisation is over the present images of all ranks, and forward(train) and
  /// backward() are collective: all ranks must call them equally often, if need be with an empty
  /// batch.
  SumOverRanks sum_over_ranks = {};
  bool profile = false;  // times every step: see step_seconds()
  /// If set, choices by measuring are rank 0's, which stores them for later runs. For compile()
  /// only.
  SharedChoices* choices = nullptr;
  /// Receives warnings, also in the first step; must outlive the executable. Empty: none.
  std::function<void(std::string_view)> warn = {};
};

/// The rows that this rank has of a parameter whose rows are split among the ranks.
struct SlotRows {
  std::int64_t first = 0;
  std::int64_t count = 0;  // rows of zeros follow, up to as many as every other rank's slot has
  std::int64_t all = 0;    // of the parameter
};

/// Returns the rows of a rank: ranks differ by at most one. `all` >= `ranks`.
SlotRows rows_of_rank(std::int64_t all, int rank, int ranks);

/// One parameter in the arena. The backend chooses the layout (blocked, padded), so a slot may have
/// more elements than the parameter; padding is zero and stays zero.
struct ParameterSlot {
  std::string name;
  Shape shape;                        // of the parameter, or of its rows here
  std::size_t elements = 0;           // in the arena, including padding
  std::string layout;                 // description; must be equal on all ranks, checked at step 0
  int parameter = 0;                  // index into Graph::parameters
  std::optional<SlotRows> rows = {};  // absent: the rank has the whole parameter
};

/// The shape of the whole parameter.
Shape whole_shape(const ParameterSlot& slot);

/// Returns slots in plain layout, in the order of Executable::slots(): nodes from the last to the
/// first, each node's weight before its bias. What several nodes read is the first one's.
std::vector<ParameterSlot> plain_slots(const Graph& graph);

class DeviceArenas;  // trainer/backends/device_arenas.hpp
struct ByteImages;   // trainer/transforms/byte_images.hpp
struct ImageRecipe;

/// Times of training steps by the device's clock, in seconds.
struct StepTimes {
  double steps = 0;
  double busy_s = 0;     // from the first kernel to the end of the update
  double exposed_s = 0;  // part of busy_s: from the end of the backward pass to the start of the
                         // update, waiting for communication and slower ranks
  double gaps = 0;       // number of gaps between steps
  double idle_s = 0;     // in the gaps
};

/// Images and labels of one step. Rows count .. CompileOptions::batch-1 are absent: their contents
/// are ignored.
struct Batch {
  std::span<const float> images;         // [batch, c, h, w], normalised, or [batch, tokens]
  std::span<const std::int32_t> labels;  // [batch, Graph::labels()], 0 .. classes-1
  int count = 0;                         // 0 .. batch
  std::span<const float> targets = {};   // [batch, classes]; if not empty, replaces labels
  std::uint64_t random = 0;              // batch_key() of dropout
  /// Replaces `images`, which is then empty. Only for an executable that takes_bytes().
  const ByteImages* bytes = nullptr;
  /// Byte images of the next batch, if already loaded, to prefetch. A hint.
  const ByteImages* ahead = nullptr;
  /// Replaces `images`, without their rounding. Only for dtype() f64.
  std::span<const double> doubles = {};
};

struct ForwardResult {
  double loss_sum = 0;  // over the batch's `count` images, of the mean over an image's labels; may
                        // be NaN or infinite; with joints.output 0, or NaN if an output is not
                        // finite
  int correct = 0;      // labels, or whole sets of classes, that are predicted
};

enum class Phase { train, evaluate };

/// Called with the index of each slot once its gradient is final, and with no_slot after other
/// work, so that communication can progress. Runs on the thread that called backward().
constexpr int no_slot = -1;
using ReadyCallback = std::function<void(int slot)>;

/// A compiled graph with its activations. Not thread-safe. Dies if the compute library fails.
class Executable {
 public:
  virtual ~Executable() = default;

  /// Returns the slots in the order in which backward() finishes gradients: the last layer's first.
  /// Those with `rows` follow all others.
  virtual const std::vector<ParameterSlot>& slots() const = 0;
  virtual DType dtype() const = 0;  // of arena elements: f32, or f64 with Precision::fp64

  /// Sets the addresses of slot i's weights and gradients (64-byte aligned, slots()[i].elements of
  /// dtype() each). The memory must outlive the executable. Call once, before anything below.
  /// Throws std::bad_alloc if a device has no memory for copies of it.
  virtual void attach(std::vector<void*> weights, std::vector<void*> gradients) = 0;

  /// Convert between slot i's arena layout and the plain, dense one (parameter shape, dtype()
  /// elements). For weights, gradients and optimiser state.
  virtual void to_plain(int slot, const void* arena, void* plain) const = 0;
  virtual void from_plain(int slot, const void* plain, void* arena) const = 0;

  /// Returns Graph::buffers[index], in plain layout. Initialised by the graph, updated by
  /// forward(train). Except for counts, values are exactly representable in dtype(), so a
  /// checkpoint is lossless.
  virtual std::vector<double> buffer(int index) const = 0;
  virtual void set_buffer(int index, std::span<const double> values) = 0;

  virtual ForwardResult forward(const Batch& batch, Phase phase) = 0;

  /// Sets what forward() calls once a device has all of its work, before it waits for the result.
  /// Not called where the host computes.
  virtual void before_waiting(std::function<void()>&&) {}

  /// Computes the gradients of scale * loss_sum of the latest forward(train) call. Overwrites the
  /// gradients, or adds to them if `accumulate`. Call at most once per forward pass: it may
  /// overwrite activations. Reads all weights until it returns, even of reported slots. Need not
  /// write gradients of frozen parameters, but reports their slots.
  virtual void backward(double scale, bool accumulate, const ReadyCallback& on_ready) = 0;

  /// A hint: from the next backward() on, on_ready may be deferred until one of these slots
  /// (ascending) is final, because only they start communication. Empty: until all slots are final.
  virtual void hold_ready_until(std::span<const int>) {}

  /// Returns the first node, input included, whose output or weights are not finite; empty: none.
  /// Call right after a forward(train) of `batch` whose loss is not finite. Does not change the
  /// state after that forward(): backward() may follow.
  virtual std::string first_non_finite(const Batch& batch) = 0;

  /// Returns the logits of the latest forward call, plain [count, labels, classes]; for tests and
  /// prediction. Of a sequence they may be gone after backward().
  virtual std::vector<double> logits() const = 0;

  // Of a graph with joints; values are dense f32, [count, shape] of the latest forward().
  /// joints.output: copies the output.
  virtual void read_output(std::span<float>) const {}
  /// joints.output: sets d(loss)/d(output), scaled already, for the next backward(), which ignores
  /// its `scale`.
  virtual void set_output_gradient(std::span<const float>) {}
  /// joints.input: copies d(loss)/d(input) after backward().
  virtual void read_input_gradient(std::span<float>) const {}
  /// The same without rounding. Only for dtype() f64.
  virtual void read_output_f64(std::span<double>) const {}
  virtual void set_output_gradient_f64(std::span<const double>) {}
  virtual void read_input_gradient_f64(std::span<double>) const {}

  /// Returns the allocator and optimiser for parameters in device memory; nullptr: host memory
  /// only.
  virtual DeviceArenas* device_arenas() { return nullptr; }

  /// Returns the times of the steps since the last call; zeros if the device has no clock or the
  /// update runs on the host.
  virtual StepTimes take_step_times() { return {}; }

  /// Returns host memory of at least this many bytes from which images transfer fastest; it may
  /// outlive the executable. nullptr: any memory is as fast.
  virtual std::shared_ptr<std::byte> image_memory(std::size_t) { return nullptr; }

  /// Whether it can prepare byte images itself by this recipe. The result equals that of CPUs up to
  /// rounding.
  virtual bool takes_bytes(const ImageRecipe&) const { return false; }

  /// Calls function(0) .. function(count-1) on the compute threads, in any order. The function must
  /// not throw.
  virtual void parallel_for(int count, const std::function<void(int)>& function) const {
    for (int i = 0; i < count; ++i) function(i);
  }

  /// Returns a line for the user about the options they chose; empty: none.
  virtual std::string remark() const { return {}; }

  /// Returns the steps that a call runs, in order: "conv1 forward: brgconv:avx512_core". For tests
  /// and profiles; may be empty.
  virtual std::vector<std::string> steps() const { return {}; }

  /// Returns the seconds spent in each of steps() so far; empty without CompileOptions::profile.
  virtual std::vector<double> step_seconds() const { return {}; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// bad_request: the backend does not support a precision, an operation or joints. unavailable:
  /// this device does not. Throws std::bad_alloc if memory runs out.
  virtual Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                                      const CompileOptions& options) = 0;
  /// Returns the PCI address of the GPU, "0000:c1:00.0"; empty: not a GPU backend.
  virtual std::string gpu() const { return {}; }
  /// Returns the free bytes of its device's memory; nullopt: it computes in the host's.
  virtual std::optional<std::int64_t> free_memory() const { return std::nullopt; }
};

struct BackendEntry {
  std::string_view name;     // what the user types
  std::string_view device;   // cpu | cuda | hip
  std::string (*version)();  // "oneDNN 2.6.3"
  /// unavailable: this machine has no such device.
  Result<std::unique_ptr<Backend>> (*open)();
  /// Whether this machine may have such a device. If not, automatic choice skips the backend
  /// silently. nullptr: yes.
  bool (*expected)() = nullptr;
  /// Precisions that compile() supports. `dltrain --describe` lists them, so that the launcher
  /// rejects others before a job is queued.
  std::span<const Precision> precisions = {};
  /// attach() accepts device memory, which communicator nccl can reduce.
  bool gpu_memory = false;
  /// A warning to print before training with this backend; empty: none.
  std::string_view caution = {};
};

}  // namespace dllaunch
