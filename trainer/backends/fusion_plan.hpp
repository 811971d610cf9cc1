// Which nodes of a graph run as one, on every backend that fuses any.
#pragma once

#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// A batch normalisation and what runs with it: the addition of another node's output, a ReLU, or
/// both in this order, one right behind the other, each but the last read by the next alone. So
/// parameters become final in the order of the nodes. -1: no such node.
struct FusedNorm {
  int norm = -1;
  int add = -1;
  int other = -1;  // the node whose output is added
  int relu = -1;

  /// The node whose output it writes. Everything that it reads comes before this one.
  int last() const { return relu >= 0 ? relu : add >= 0 ? add : norm; }
};

struct FusionPlan {
  std::vector<FusedNorm> norms;
  std::vector<int> norm_of;  // by node: its index in `norms`, -1: the node runs alone

  /// nullptr: node n runs alone.
  const FusedNorm* of(int n) const;
  /// Whether a later node runs node n, whose output is never stored.
  bool absorbed(int n) const;
};

FusionPlan plan_fusions(const Graph& graph);

}  // namespace dllaunch
