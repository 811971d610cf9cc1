// What a GPU backend runs for a graph, and when each of its arrays is in use. Pure.
#pragma once

#include <vector>

#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

/// How node n is run. The last node of those that fusion_plan.hpp fuses runs all of them; the
/// others are absorbed and have no output.
struct NodePlan {
  Volume shape;           // of the output, for a whole batch
  bool absorbed = false;  // a later node runs it
  int norm = -1;          // the batch normalisation that this node runs, itself perhaps
  int other = -1;         // the node whose output is added to it
  bool relu = false;      // and the ReLU after it
  bool trains = false;    // it, or a node before it, has a parameter that is not frozen
};

/// Steps are counted: node n runs forward in step n, backward in step 2 N - 1 - n.
struct Use {
  int first = 0;
  int last = -1;  // below first: never in use
};

struct StepPlan {
  std::vector<NodePlan> nodes;
  std::vector<Use> values;  // of node n's output
  std::vector<Use> grads;   // of its gradient
  int steps = 0;
};

StepPlan plan_steps(const Graph& graph, int batch);

/// The window of a convolution or a pooling.
Window window_of(const Operation& op);

}  // namespace dllaunch::gpu
