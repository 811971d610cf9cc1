// Operator fusion: which nodes run as one, on all backends that fuse.
#pragma once

#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// A batch normalisation fused with an addition of another node's output, a ReLU, or both in this
/// order. The nodes are consecutive, and each but the last is read only by the next, so gradients
/// still become final in the order of the nodes. -1: no such node.
struct FusedNorm {
  int norm = -1;
  int add = -1;
  int other = -1;  // the node whose output is added
  int relu = -1;

  /// Returns the node whose output the group writes. All that it reads comes before this node.
  int last() const { return relu >= 0 ? relu : add >= 0 ? add : norm; }
};

struct FusionPlan {
  std::vector<FusedNorm> norms;
  std::vector<int> norm_of;  // by node: index into `norms`; -1: not fused

  /// Returns the group of node n; nullptr: not fused.
  const FusedNorm* of(int n) const;
  /// Whether node n runs as part of a later node; its output is then never stored.
  bool absorbed(int n) const;
};

FusionPlan plan_fusions(const Graph& graph);

}  // namespace dllaunch
