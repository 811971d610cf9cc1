// The interface of backends: a backend compiles a graph into something that runs.
// It knows no vendor's library and no training loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"
#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// tf32: of GPUs; single, but products read 10 bits of mantissa. fp64: only `reference`.
enum class Precision { fp32, fp64, tf32, bf16, fp16 };
std::string_view to_string(Precision precision);

/// Of convolutions, where a backend has the choice. Winograd's algorithm does fewer multiplications
/// and rounds coarser.
enum class ConvolutionAlgorithm { automatic, direct, winograd };

/// Sums `values` over all ranks, in place, to the same bits on each. Called on the thread that runs
/// the executable; it waits for the other ranks.
using SumOverRanks = std::function<void(std::span<double> values)>;

struct CompileOptions {
  int batch = 32;  // images a call holds at most
  Precision precision = Precision::fp32;
  int threads = 0;  // 0: as many as the process may use CPUs
  ConvolutionAlgorithm convolution = ConvolutionAlgorithm::automatic;
  /// Where given, a batch normalisation is over the present images of all ranks, and forward(train)
  /// and backward() are collective: every rank calls them as often, with an empty batch if need be.
  SumOverRanks sum_over_ranks = {};
  bool profile = false;  // look at the clock after every step: for profiles
};

/// One parameter as it lies in the arena. The backend chooses the layout (blocked, padded), so a
/// slot may hold more elements than the parameter; what pads it is zero and stays zero.
struct ParameterSlot {
  std::string name;
  Shape shape;               // the parameter's own, plain
  std::size_t elements = 0;  // in the arena
  std::string layout;        // for the step-0 check: ranks must agree on it
  int parameter = 0;         // index into Graph::parameters
};

/// The slots of a backend that keeps parameters plain, in the order the interface asks for: nodes
/// from the last to the first, each node's weight before its bias.
std::vector<ParameterSlot> plain_slots(const Graph& graph);

class DeviceArenas;  // trainer/backends/device_arenas.hpp
struct ByteImages;   // trainer/transforms/byte_images.hpp
struct ImageRecipe;

/// Training steps by a device's own clock, in seconds.
struct StepTimes {
  double steps = 0;
  double busy_s = 0;     // from the first kernel to the end of the update
  double exposed_s = 0;  // of them: from the end of the backward pass to the update's beginning,
                         // when it waits for communication and slower ranks
  double gaps = 0;       // between two steps
  double idle_s = 0;     // in them
};

/// Images and labels of one step. Rows count .. CompileOptions::batch-1 are absent: they may hold
/// anything, give no loss and no gradient.
struct Batch {
  std::span<const float> images;         // [batch, c, h, w], normalised
  std::span<const std::int32_t> labels;  // [batch], 0 .. classes-1
  int count = 0;                         // 0 .. batch
  std::span<const float> targets = {};   // [batch, classes], in place of labels where not empty
  std::uint64_t random = 0;              // key of what is drawn at random in training
  /// In place of `images`, which is empty then, for an executable that takes_bytes().
  const ByteImages* bytes = nullptr;
  /// Those of the next batch, most likely, where they are there already.
  const ByteImages* ahead = nullptr;
};

struct ForwardResult {
  double loss_sum = 0;  // over the batch's `count` images; NaN and infinity pass through
  int correct = 0;      // images whose class, or whole set of classes, the network gives
};

enum class Phase { train, evaluate };

/// Called with the index of a slot whose gradient is final, and with no_slot after any other piece
/// of work: a chance to progress communication. On the thread that called backward().
constexpr int no_slot = -1;
using ReadyCallback = std::function<void(int slot)>;

/// A compiled graph with its activations. Not thread-safe. Failures of the compute library die().
class Executable {
 public:
  virtual ~Executable() = default;

  /// In the order in which backward() makes gradients final: the last layer's first.
  virtual const std::vector<ParameterSlot>& slots() const = 0;
  virtual DType dtype() const = 0;  // of arena elements: f32, or f64 with Precision::fp64

  /// Where slot i's weights and gradients lie (64-byte aligned, slots()[i].elements of dtype()
  /// each). They must outlive the executable. Called once, before anything below.
  virtual void attach(std::vector<void*> weights, std::vector<void*> gradients) = 0;

  /// Between the arena's layout of slot i and the plain, dense one (parameter shape, dtype()
  /// elements). Serves weights, gradients and optimiser state alike.
  virtual void to_plain(int slot, const void* arena, void* plain) const = 0;
  virtual void from_plain(int slot, const void* plain, void* arena) const = 0;

  /// Graph::buffers[index], plain. forward(train) changes them; they start as the graph says. Of
  /// those that are no counts, values that dtype() holds exactly: a checkpoint loses nothing.
  virtual std::vector<double> buffer(int index) const = 0;
  virtual void set_buffer(int index, std::span<const double> values) = 0;

  virtual ForwardResult forward(const Batch& batch, Phase phase) = 0;

  /// Gradients of scale * loss_sum of the latest forward(train) call, of which it is the one
  /// backward pass: it may write over activations. Overwrites, or adds when `accumulate`. Reads the
  /// weights until it returns, also those whose slot it has reported. Gradients of frozen
  /// parameters may be left as they are; their slots are reported all the same.
  virtual void backward(double scale, bool accumulate, const ReadyCallback& on_ready) = 0;

  /// From the next backward() on it may hold on_ready back for all slots until one of these
  /// (ascending) is final: what starts something. None: until all are. A hint.
  virtual void hold_ready_until(std::span<const int>) {}

  /// Right after a forward(train) of `batch` whose loss is NaN or infinite: the first node in order
  /// that gave such a number or has a weight that is one, the input included; empty: none. Leaves
  /// everything as that forward() did; backward() may follow.
  virtual std::string first_non_finite(const Batch& batch) = 0;

  /// Logits of the latest forward call, plain [count, classes]; for tests and prediction.
  virtual std::vector<double> logits() const = 0;

  /// Where parameters may lie beside the device, and be updated; nullptr: only on the host.
  virtual DeviceArenas* device_arenas() { return nullptr; }

  /// Steps since the last call; none where the device has no clock, or does not update.
  virtual StepTimes take_step_times() { return {}; }

  /// Memory of the host from which images come fastest, at least so many bytes; it lives by itself.
  /// nullptr: any.
  virtual std::shared_ptr<std::byte> image_memory(std::size_t) { return nullptr; }

  /// Does it prepare images itself, from bytes and by this recipe? It sees what CPUs make of them,
  /// to float's last bits.
  virtual bool takes_bytes(const ImageRecipe&) const { return false; }

  /// Runs body(0) .. body(count-1) on the threads that compute, in any order. Bodies do not throw.
  virtual void parallel_for(int count, const std::function<void(int)>& function) const {
    for (int i = 0; i < count; ++i) function(i);
  }

  /// A line for people about what they asked for; empty: nothing to say.
  virtual std::string remark() const { return {}; }

  /// What a call runs, in order, "conv1 forward: brgconv:avx512_core"; for tests and profiles.
  /// Empty where there is nothing to tell.
  virtual std::vector<std::string> steps() const { return {}; }

  /// Seconds that each of steps() has taken in all calls so far, with CompileOptions::profile; else
  /// empty.
  virtual std::vector<double> step_seconds() const { return {}; }
};

class Backend {
 public:
  virtual ~Backend() = default;
  /// bad_request: a precision or operation this backend does not have, by name. unavailable: one
  /// that this device lacks. Memory that is refused: std::bad_alloc.
  virtual Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                                      const CompileOptions& options) = 0;
  /// PCI address of the GPU that computes, "0000:c1:00.0"; empty: none does.
  virtual std::string gpu() const { return {}; }
};

struct BackendEntry {
  std::string_view name;     // what the user types
  std::string_view device;   // cpu | cuda | hip
  std::string (*version)();  // "oneDNN 2.6.3"
  /// unavailable: no such device here.
  Result<std::unique_ptr<Backend>> (*open)();
  /// nullptr, or whether this machine may have such a device: where not, nobody who left the choice
  /// open is told what is missing.
  bool (*expected)() = nullptr;
  /// What compile() takes; `dltrain --describe` tells it, so that the launcher refuses the rest
  /// before a job waits in a queue.
  std::span<const Precision> precisions = {};
  /// attach() takes memory of the device: what communicator nccl reduces.
  bool gpu_memory = false;
  /// What whoever computes with it is told first; empty: nothing.
  std::string_view caution = {};
};

}  // namespace dllaunch
