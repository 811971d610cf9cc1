// Compiles a graph into a program: chooses the layers and what they fuse.
#pragma once

#include <string>
#include <vector>

#include "trainer/backends/onednn/program.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::onednn {

/// A node's output after the first `steps` steps of the forward pass.
struct NodeOutput {
  std::size_t steps = 0;
  std::string node;             // the last one of a fused group
  std::vector<int> parameters;  // read by the group
  dnnl::memory y;               // valid until a later step reuses its memory
};

struct Assembled {
  dnnl::memory input;   // [batch, c, h, w], plain
  dnnl::memory logits;  // [batch, labels, classes], plain
  /// d(loss)/d(logits), likewise; input of the backward pass. Of a sequence, the same memory.
  dnnl::memory logit_grads;
  dnnl::memory input_grads;  // d(loss)/d(input), as input; only with joints.input
  std::vector<Step> forward;
  std::vector<NodeOutput> outputs;       // in order
  std::vector<BackwardOfNode> backward;  // the last node first; only nodes with steps or slots
};

/// Adds the whole graph to `program`, for OpenMP's current number of threads. Throws dnnl::error.
Assembled assemble(const Graph& graph, int batch, Program& program);

}  // namespace dllaunch::onednn
