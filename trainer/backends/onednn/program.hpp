// A compiled graph as lists of oneDNN primitives with their memories bound.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "trainer/graph.hpp"

namespace dllaunch::onednn {

/// One primitive, ready to run.
struct Step {
  std::string name;            // "conv1 backward weights"
  std::string implementation;  // "brgconv:avx512_core"
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
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

/// Collects steps and memories while a graph is compiled.
class Program {
 public:
  Program(dnnl::engine engine, std::size_t parameters);

  const dnnl::engine& engine() const { return engine_; }

  /// Uninitialised memory that lives as long as someone refers to it.
  dnnl::memory allocate(const dnnl::memory::desc& layout) const;

  /// `from` itself where it has that layout already, else a copy that a new step of `steps` writes.
  dnnl::memory in_layout(std::vector<Step>& steps, const std::string& name,
                         const dnnl::memory& from, const dnnl::memory::desc& layout);

  /// Declares where parameter `index` lives; its memories are bound by attach().
  const BoundParameter& bind_parameter(int index, const dnnl::memory::desc& plain,
                                       const dnnl::memory::desc& layout);
  std::vector<BoundParameter>& parameters() { return parameters_; }
  const std::vector<BoundParameter>& parameters() const { return parameters_; }

  /// The shared scratchpad is added to the arguments.
  template <typename PrimitiveDesc>
  void add(std::vector<Step>& steps, const std::string& name, const PrimitiveDesc& primitive_desc,
           const dnnl::primitive& primitive, std::unordered_map<int, dnnl::memory> arguments) {
    const dnnl::memory scratchpad = use_scratchpad(primitive_desc.scratchpad_desc());
    arguments.insert({DNNL_ARG_SCRATCHPAD, scratchpad});
    steps.push_back({.name = name,
                     .implementation = primitive_desc.impl_info_str(),
                     .primitive = primitive,
                     .arguments = std::move(arguments)});
  }

  /// Once all steps are added: gives them one buffer, as large as the largest needs.
  void allocate_scratchpad();

 private:
  dnnl::memory use_scratchpad(const dnnl::memory::desc& desc);

  dnnl::engine engine_;
  std::vector<BoundParameter> parameters_;
  std::vector<dnnl::memory> scratchpads_;
  dnnl::memory scratchpad_;
};

/// Every primitive works in the scratchpad it is given: many need one, none at the same time.
dnnl::primitive_attr user_scratchpad();

/// [batch, c, h, w] or [batch, features], or the same of a parameter: dense, in C order.
dnnl::memory::desc plain_layout(const dnnl::memory::dims& dims);

/// The same extents, the layout left to the primitive.
dnnl::memory::desc any_layout(const dnnl::memory::dims& dims);

/// "strides 4608,144,48,16 blocks 16a": equal for equal layouts.
std::string describe(const dnnl::memory::desc& layout);

}  // namespace dllaunch::onednn
