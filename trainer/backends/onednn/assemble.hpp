// From a graph to a program: which layer does what, and what it may do for its neighbours.
#pragma once

#include "trainer/backends/onednn/program.hpp"
#include "trainer/graph.hpp"

namespace dllaunch::onednn {

struct Assembled {
  dnnl::memory input;   // [batch, c, h, w], plain
  dnnl::memory logits;  // [batch, classes], plain
  dnnl::memory slope;   // [batch, classes], plain: d(loss)/d(logits), where backward starts
  std::vector<Step> forward;
  std::vector<BackwardOfNode> backward;  // the last node first; only nodes with steps or slots
};

/// Adds all of the graph to `program`, for as many threads as OpenMP is set to. Throws dnnl::error.
Assembled assemble(const Graph& graph, int batch, Program& program);

}  // namespace dllaunch::onednn
