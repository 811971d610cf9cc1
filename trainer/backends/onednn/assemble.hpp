// From a graph to a program: which layer does what, and what it may do for its neighbours.
#pragma once

#include <string>
#include <vector>

#include "trainer/backends/onednn/program.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::onednn {

/// What the forward pass has done once `steps` steps are run.
struct NodeOutput {
  std::size_t steps = 0;
  std::string node;             // what was run, by its last node
  std::vector<int> parameters;  // that were read for it
  dnnl::memory y;               // until another step writes to its place
};

struct Assembled {
  dnnl::memory input;        // [batch, c, h, w], plain
  dnnl::memory logits;       // [batch, classes], plain
  dnnl::memory logit_grads;  // [batch, classes], plain: d(loss)/d(logits), where backward starts
  std::vector<Step> forward;
  std::vector<NodeOutput> outputs;       // in order
  std::vector<BackwardOfNode> backward;  // the last node first; only nodes with steps or slots
};

/// Adds all of the graph to `program`, for as many threads as OpenMP is set to. Throws dnnl::error.
Assembled assemble(const Graph& graph, int batch, Program& program);

}  // namespace dllaunch::onednn
