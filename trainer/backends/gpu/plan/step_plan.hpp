// What a GPU backend runs for a graph, and the lifetime of each array. Pure.
#pragma once

#include <optional>
#include <vector>

#include "support/result.hpp"
#include "trainer/backends/gpu/kernels/element.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

/// How node n is run. The last node of a fused group (fusion_plan.hpp) runs the whole group; the
/// others are absorbed and have no output.
struct NodePlan {
  Volume shape;           // of the output, for a full batch; a sequence's tokens are rows
  bool absorbed = false;  // a later node runs it
  int norm = -1;          // the batch normalisation of the group that this node runs
  int other = -1;         // the node whose output is added
  bool relu = false;      // a ReLU follows
  bool trains = false;    // this node or one before it has a parameter that is not frozen
};

/// Lifetime of an array in steps. Of N nodes, node n runs forward in step n and backward in step
/// 2 N - 1 - n.
struct Use {
  int first = 0;
  int last = -1;  // < first: never in use
};

struct StepPlan {
  std::vector<NodePlan> nodes;
  std::vector<Use> values;  // of each node's output
  std::vector<Use> grads;   // of its gradient
  int steps = 0;
};

StepPlan plan_steps(const Graph& graph, int batch);

/// Why GPUs do not compute a graph (bad_request); nullopt: they do.
/// - A max pooling has a window of more than 65,536 elements; the place of the largest is stored in
///   16 bits.
/// - An embedding reads another node than the input. Activations of 16 bits hold no ids, so only
///   the input's are kept as floats.
std::optional<Error> graph_error(const Graph& graph);

/// Returns the window of a convolution or pooling.
Window window_of(const Operation& op);

}  // namespace dllaunch::gpu
