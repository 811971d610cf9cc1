// What a training step of the GPU backends computes and moves, launch by launch, and how long that
// takes at least. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/numerics/dtype.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

/// One launch.
struct PassCost {
  std::string name = {};  // "layer1.0.conv1 forward"
  /// Of convolutions and products, padding included: two for each multiplication with its addition.
  double operations = 0;
  double bytes = 0;  // of every array that it reads or writes, once
};

struct StepKind {
  int batch = 1;
  DType type = DType::f32;  // of activations
  int states = 1;  // arrays of the optimiser's own, as large as the parameters: sgd has one
};

/// In the order of launches: the passes of GpuExecutable, with normalisations, additions and ReLUs
/// joined as step_plan.hpp joins them, the loss, the update. Images lie on the device already.
std::vector<PassCost> step_costs(const Graph& graph, const StepKind& kind);

/// What a device does at most.
struct Ceilings {
  double operations_per_s = 0;
  double bytes_per_s = 0;
};

/// The least time of passes that come one after the other, none faster than a ceiling. Which of the
/// two holds it up is counted pass by pass.
struct Floor {
  double computing_s = 0;
  double moving_s = 0;
  double seconds() const { return computing_s + moving_s; }
};
Floor floor_of(std::span<const PassCost> passes, const Ceilings& ceilings);

}  // namespace dllaunch::gpu
