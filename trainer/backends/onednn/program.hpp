// A compiled graph as lists of oneDNN primitives with their memories bound.
#pragma once

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::onednn {

/// One primitive, ready to run, or a loop of our own.
struct Step {
  std::string name;            // "conv1 backward weights"
  std::string implementation;  // "brgconv:avx512_core"
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  std::function<void()> loop = {};  // instead of the primitive
  double seconds = 0;               // in all calls so far, where somebody clocks them

  void run(const dnnl::stream& stream) const {
    if (loop) return loop();
    primitive.execute(stream, arguments);
  }
};

/// What differs from call to call.
struct CallState {
  int rows = 0;              // present images
  bool train = false;        // the latest forward pass was for training
  bool repeat = false;       // that pass once more: what it measured stands
  std::uint64_t random = 0;  // Batch::random of that pass
};

/// The backward pass of one node, in two parts: between them the slots are reported ready, so that
/// communication starts before the input's gradient is computed.
struct BackwardOfNode {
  struct Slot {
    int slot = 0;
    int parameter = 0;
  };
  std::vector<Slot> slots;       // of the node's parameters
  std::vector<Step> parameters;  // write their gradients
  std::vector<Step> input;       // the rest
};

/// One parameter of the graph. Arena memory has the layout of the gradient, and so have weights and
/// optimiser state: the update is elementwise, and only the few weights whose forward or
/// backward-data primitive wants another layout are reordered, once a step.
struct BoundParameter {
  dnnl::memory::desc plain;
  dnnl::memory weight;    // bound by attach()
  dnnl::memory gradient;  // bound by attach()
};

/// In which numbers a graph is computed, and how. Weights, their gradients, statistics and sums
/// stay f32; what is multiplied is of `type`.
struct Numerics {
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;  // or bf16
  ConvolutionAlgorithm convolution = ConvolutionAlgorithm::direct;
};

/// Collects steps and memories while a graph is compiled. Steps run in the order in which they are
/// added, and memories are planned for that order: two that are not in use at the same time may be
/// the same bytes.
class Program {
 public:
  Program(dnnl::engine engine, std::size_t parameters, const Numerics& numerics = {},
          SumOverRanks sum_over_ranks = {});

  const dnnl::engine& engine() const { return engine_; }
  const Numerics& numerics() const { return numerics_; }
  /// As CompileOptions tells.
  const SumOverRanks& sum_over_ranks() const { return sum_over_ranks_; }
  /// Read by steps of our own, written before each call.
  CallState& call() { return *call_; }

  /// Memory for what one step writes and later ones read. Without an address until
  /// allocate_planned(), and with one only from the first step that uses it to the last.
  dnnl::memory allocate(const dnnl::memory::desc& layout);
  /// Memory for what is read or written outside steps too: always there.
  dnnl::memory allocate_persistent(const dnnl::memory::desc& layout) const;

  /// `from` itself where it has that layout already, else a copy that a new step of `steps` writes.
  dnnl::memory reorder_to(std::vector<Step>& steps, const std::string& name,
                          const dnnl::memory& from, const dnnl::memory::desc& layout);

  /// A step that brings `from` into the layout of `to`.
  void reorder(std::vector<Step>& steps, const std::string& name, const dnnl::memory& from,
               const dnnl::memory& to);

  /// Declares where parameter `index` lives; its memories are bound by attach().
  const BoundParameter& bind_parameter(int index, const dnnl::memory::desc& plain,
                                       const dnnl::memory::desc& layout);
  std::vector<BoundParameter>& parameters() { return parameters_; }
  const std::vector<BoundParameter>& parameters() const { return parameters_; }

  /// Gives the graph's buffers their first values.
  void bind_buffers(const Graph& graph);
  std::vector<std::vector<double>>& buffers() { return buffers_; }
  const std::vector<std::vector<double>>& buffers() const { return buffers_; }

  /// A scratchpad is added to the arguments: memory like any other, in use for this one step.
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

  /// A loop of our own, and all memories that it reads or writes.
  void add_loop(std::vector<Step>& steps, const std::string& name,
                const std::string& implementation, const std::vector<dnnl::memory>& memories,
                std::function<void()> loop);

  /// The sum of `parts`, at least one, in `layout` or in the first part's. May be the memory of the
  /// first part, unless that is shared.
  dnnl::memory sum(std::vector<Step>& steps, const std::string& name,
                   const std::vector<dnnl::memory>& parts,
                   const dnnl::memory::desc& layout = dnnl::memory::desc());
  /// `y` can be computed once more from what is kept anyway: `compute` appends the step that does
  /// it to those it is given, and returns where it is then.
  using Compute = std::function<dnnl::memory(std::vector<Step>&)>;
  void offer_recompute(const dnnl::memory& y, Compute compute);
  /// For a backward pass that reads what a forward pass wrote: `y`, or what computed it once more
  /// wrote, for the first who asks.
  dnnl::memory recompute(std::vector<Step>& steps, const dnnl::memory& y);

  /// Read by several from now on: nobody may write to it.
  void mark_shared(const dnnl::memory& memory) { shared_.push_back(memory); }
  bool is_shared(const dnnl::memory& memory) const;

  /// Once all steps are added: gives all memories their place.
  void allocate_planned();
  std::size_t planned_bytes() const { return planned_bytes_; }

 private:
  struct Planned {
    dnnl::memory memory;
    int first = 0;  // the first step that uses it; 0: none yet
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
  std::unordered_map<const void*, std::size_t> index_;  // into planned_, by oneDNN's handle
  std::vector<dnnl::memory> shared_;
  std::unordered_map<const void*, Compute> recomputable_;     // by the handle of y
  std::unordered_map<const void*, dnnl::memory> recomputed_;  // what was
  dnnl::memory arena_;                                        // what is planned
  std::size_t planned_bytes_ = 0;
};

/// Every primitive works in the scratchpad it is given.
dnnl::primitive_attr user_scratchpad();

/// [batch, c, h, w] or [batch, features], or the same of a parameter: dense, in C order.
dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims,
                                dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// The same extents, the layout left to the primitive.
dnnl::memory::desc any_layout(const dnnl::memory::dims& dims,
                              dnnl::memory::data_type type = dnnl::memory::data_type::f32);

/// "strides 4608,144,48,16 blocks 16a": equal for equal layouts.
std::string describe(const dnnl::memory::desc& layout);

}  // namespace dllaunch::onednn
