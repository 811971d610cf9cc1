// A compiled graph as lists of oneDNN primitives with their memories bound.
#pragma once

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/onednn/versions.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::onednn {

/// One primitive with its arguments, or a loop of this backend.
struct Step {
  std::string name;            // "conv1 backward weights"
  std::string implementation;  // "brgconv:avx512_core"
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  std::function<void()> loop = {};  // instead of the primitive
  double seconds = 0;               // in all calls so far, with CompileOptions::profile

  void run(const dnnl::stream& stream) const {
    if (loop) return loop();
    primitive.execute(stream, arguments);
  }
};

/// State of the current call.
struct CallState {
  int rows = 0;              // present images
  bool train = false;        // phase of the latest forward pass
  bool repeat = false;       // repeats that pass with the statistics it measured
  bool accumulate = false;   // the backward pass adds to the gradients
  std::uint64_t random = 0;  // Batch::random of that pass
};

/// The backward pass of one node: first the parameters' gradients, then the input's. The slots are
/// reported ready in between, so that communication overlaps with the second part.
struct BackwardOfNode {
  struct Slot {
    int slot = 0;
    int parameter = 0;
  };
  std::vector<Slot> slots;       // of the node's parameters, unless it shares another's
  std::vector<int> gradients;    // the node's parameters, also those it shares
  std::vector<Step> parameters;  // write their gradients
  bool adds_gradients = false;   // they add to them if CallState::accumulate
  std::vector<Step> input;       // the rest
};

/// One parameter of the graph. Weights and optimiser state have the gradient's layout, so the
/// update is elementwise. A weight is reordered, once per step, only if its forward or
/// backward-data primitive needs another layout.
struct BoundParameter {
  dnnl::memory::desc plain;
  dnnl::memory weight;    // bound by attach()
  dnnl::memory gradient;  // bound by attach()
};

/// Data type and algorithm of the computation. Activations and multiplicands have `type`; weights,
/// their gradients, statistics and sums stay f32.
struct Numerics {
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;  // or bf16
  ConvolutionAlgorithm convolution = ConvolutionAlgorithm::direct;
};

/// Collects steps and memories while a graph is compiled. Steps run in the order in which they are
/// added; memories that are not in use at the same time share an address.
class Program {
 public:
  Program(dnnl::engine engine, std::size_t parameters, const Numerics& numerics = {},
          SumOverRanks sum_over_ranks = {});

  const dnnl::engine& engine() const { return engine_; }
  const Numerics& numerics() const { return numerics_; }
  const SumOverRanks& sum_over_ranks() const { return sum_over_ranks_; }
  /// Written before each call, read by loops.
  CallState& call() { return *call_; }

  /// Returns memory for what one step writes and later ones read. It has no address until
  /// allocate_planned(), and is valid only from the first step that uses it to the last.
  dnnl::memory allocate(const dnnl::memory::desc& layout);
  /// Returns memory that is also valid outside steps.
  dnnl::memory allocate_persistent(const dnnl::memory::desc& layout) const;

  /// Returns `from` if it has that layout, else the destination of a reorder appended to `steps`.
  dnnl::memory reorder_to(std::vector<Step>& steps, const std::string& name,
                          const dnnl::memory& from, const dnnl::memory::desc& layout);

  /// Appends a reorder of `from` into `to`.
  void reorder(std::vector<Step>& steps, const std::string& name, const dnnl::memory& from,
               const dnnl::memory& to);

  /// Declares the layout of parameter `index`; attach() sets its addresses.
  const BoundParameter& bind_parameter(int index, const dnnl::memory::desc& plain,
                                       const dnnl::memory::desc& layout);
  std::vector<BoundParameter>& parameters() { return parameters_; }
  const std::vector<BoundParameter>& parameters() const { return parameters_; }

  /// Sets the graph's buffers to their initial values.
  void bind_buffers(const Graph& graph);
  std::vector<std::vector<double>>& buffers() { return buffers_; }
  const std::vector<std::vector<double>>& buffers() const { return buffers_; }

  /// Appends a primitive. Adds a scratchpad to its arguments, in use for this step only.
  template <typename PrimitiveDesc>
  void add(std::vector<Step>& steps, const std::string& name, const PrimitiveDesc& primitive_desc,
           const dnnl::primitive& primitive, std::unordered_map<int, dnnl::memory> arguments) {
    begin_step();
    for (const auto& [index, memory] : arguments) use(memory);
    const dnnl::memory scratchpad = allocate(primitive_desc.scratchpad_desc());
    use(scratchpad);
    arguments.insert({DNNL_ARG_SCRATCHPAD, scratchpad});
    steps.push_back({.name = name,
                     .implementation = primitive_desc.impl_info_str(),
                     .primitive = primitive,
                     .arguments = std::move(arguments)});
  }

  /// Appends a loop. `memories`: all that it reads or writes.
  void add_loop(std::vector<Step>& steps, const std::string& name,
                const std::string& implementation, const std::vector<dnnl::memory>& memories,
                std::function<void()> loop);

  /// Whether a memory's address is this program's to choose.
  bool is_planned(const dnnl::memory& memory) const { return index_.contains(memory.get()); }

  /// Returns the sum of `parts` (at least one), in `layout` or else the first part's. Overwrites
  /// the first part if it is not shared.
  dnnl::memory sum(std::vector<Step>& steps, const std::string& name,
                   const std::vector<dnnl::memory>& parts,
                   const dnnl::memory::desc& layout = dnnl::memory::desc());
  /// Offers to recompute `y` in the backward pass instead of keeping it. `compute` appends the step
  /// that does so and returns its output.
  using Compute = std::function<dnnl::memory(std::vector<Step>&)>;
  void offer_recompute(const dnnl::memory& y, Compute compute);
  /// Returns `y`, an output of the forward pass, for use in the backward pass: recomputed if that
  /// was offered, by a step that the first call appends.
  dnnl::memory recompute(std::vector<Step>& steps, const dnnl::memory& y);

  /// Marks memory that has several readers: it must not be overwritten.
  void mark_shared(const dnnl::memory& memory) { shared_.push_back(memory); }
  bool is_shared(const dnnl::memory& memory) const;

  /// Assigns all addresses. Call after the last step was added.
  void allocate_planned();
  std::size_t planned_bytes() const { return planned_bytes_; }

 private:
  struct Planned {
    dnnl::memory memory;
    int first = 0;  // first step that uses it; 0: none yet
    int last = 0;
  };
  void begin_step() { ++steps_; }
  void use(const dnnl::memory& memory);

  dnnl::engine engine_;
  Numerics numerics_;
  SumOverRanks sum_over_ranks_;
  std::vector<BoundParameter> parameters_;
  std::vector<std::vector<double>> buffers_;  // as Graph::buffers
  std::unique_ptr<CallState> call_ = std::make_unique<CallState>();
  int steps_ = 0;
  std::vector<Planned> planned_;
  std::unordered_map<const void*, std::size_t> index_;  // into planned_, by oneDNN handle
  std::vector<dnnl::memory> shared_;
  std::unordered_map<const void*, Compute> recomputable_;     // by handle of y
  std::unordered_map<const void*, dnnl::memory> recomputed_;  // by handle of y
  dnnl::memory arena_;                                        // holds planned_
  std::size_t planned_bytes_ = 0;
};

/// Returns attributes that make a primitive use the scratchpad passed to it.
dnnl::primitive_attr user_scratchpad();

/// Returns the dense layout in C order: [batch, c, h, w], [batch, features] or a parameter's shape.
dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims,
                                dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// Returns a descriptor that leaves the layout to the primitive.
dnnl::memory::desc any_layout(const dnnl::memory::dims& dims,
                              dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// Returns the layout as text, equal for equal layouts: "strides 4608,144,48,16 blocks 16a".
std::string describe(const dnnl::memory::desc& layout);

}  // namespace dllaunch::onednn
