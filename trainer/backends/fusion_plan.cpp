#include "trainer/backends/fusion_plan.hpp"

#include "support/position.hpp"
#include "trainer/graph/readers.hpp"

namespace dllaunch {
namespace {

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph), readers_(readers_of(graph)) {
    plan_.norm_of.assign(graph.nodes.size(), -1);
  }

  FusionPlan plan() && {
    for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n) {
      if (is<BatchNorm>(n)) fuse(n);
    }
    return std::move(plan_);
  }

 private:
  template <typename Kind>
  bool is(int n) const {
    return std::holds_alternative<Kind>(graph_.nodes[at(n)].op);
  }

  /// Returns node n + 1 if it is of this kind and the only reader of node n, else -1.
  template <typename Kind>
  int follower(int n) const {
    return readers_[at(n)] == std::vector{n + 1} && is<Kind>(n + 1) ? n + 1 : -1;
  }

  void fuse(int n) {
    FusedNorm fused{.norm = n, .add = follower<Add>(n)};
    if (fused.add >= 0) {
      const std::vector<int>& inputs = graph_.nodes[at(fused.add)].inputs;
      fused.other = inputs[0] == n ? inputs[1] : inputs[0];
    }
    fused.relu = follower<Relu>(fused.last());
    for (int node = n; node <= fused.last(); ++node) {
      plan_.norm_of[at(node)] = static_cast<int>(plan_.norms.size());
    }
    plan_.norms.push_back(fused);
  }

  const Graph& graph_;
  std::vector<std::vector<int>> readers_;
  FusionPlan plan_;
};

}  // namespace

const FusedNorm* FusionPlan::of(int n) const {
  const int norm = norm_of[at(n)];
  return norm < 0 ? nullptr : &norms[at(norm)];
}

bool FusionPlan::absorbed(int n) const {
  const FusedNorm* fused = of(n);
  return fused != nullptr && fused->last() != n;
}

FusionPlan plan_fusions(const Graph& graph) {
  return Planner(graph).plan();
}

}  // namespace dllaunch
