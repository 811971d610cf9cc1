// Operations and bytes of a training step on a GPU, launch by launch, and a lower bound of its
// time. Pure.
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
  /// For convolutions and products, including padding: two per multiply-add.
  double operations = 0;
  double bytes = 0;  // of every array read or written, counted once
};

struct StepKind {
  int batch = 1;
  DType type = DType::f32;  // of activations
  int states = 1;           // optimiser states, each as large as the parameters: 1 for sgd
};

/// Returns the launches in order: the passes of GpuExecutable, with normalisations, additions and
/// ReLUs fused as in step_plan.hpp, the loss, and the update. Images are on the device already.
std::vector<PassCost> step_costs(const Graph& graph, const StepKind& kind);

/// Peak rates of a device.
struct Ceilings {
  double operations_per_s = 0;
  double bytes_per_s = 0;
};

/// Lower bound for passes that run one after the other, each limited by one of the two ceilings.
struct Floor {
  double computing_s = 0;
  double moving_s = 0;
  double seconds() const { return computing_s + moving_s; }
};
Floor floor_of(std::span<const PassCost> passes, const Ceilings& ceilings);

}  // namespace dllaunch::gpu
