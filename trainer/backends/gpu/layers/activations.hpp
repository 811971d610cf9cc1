// Outputs of nodes and their gradients on the GPU, while the plan of a step uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/backends/gpu/math_library.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {

class Activations {
 public:
  /// Reserves arrays of `type`.
  void reserve(const Graph& graph, const StepPlan& plan, DType type, DeviceMemory& memory) {
    memory_ = &memory;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const auto elements = static_cast<std::size_t>(plan.nodes[n].shape.elements());
      const auto place = [&](const Use& use, std::size_t bytes) {
        return use.last < use.first ? -1 : memory.add(bytes, use.first, use.last);
      };
      values_.push_back(place(plan.values[n], elements * bytes_of(type)));
      grads_.push_back(place(plan.grads[n], elements * bytes_of(type)));
      const bool chooses = traits_of(graph.nodes[n].op).stores_argmax;
      const int step = static_cast<int>(n);
      const Use both{step, chooses ? plan.steps - 1 - step : -1};
      argmax_.push_back(place(both, elements * sizeof(std::uint16_t)));
    }
  }

  /// Of a node; nullptr: not needed.
  template <typename T>
  T* value(int n) const {
    return memory_->at<T>(values_[static_cast<std::size_t>(n)]);
  }
  template <typename T>
  T* grad(int n) const {
    return memory_->at<T>(grads_[static_cast<std::size_t>(n)]);
  }
  std::uint16_t* argmax(std::size_t n) const { return memory_->at<std::uint16_t>(argmax_[n]); }

 private:
  DeviceMemory* memory_ = nullptr;
  std::vector<int> values_;  // indexes into memory_, by node
  std::vector<int> grads_;
  std::vector<int> argmax_;  // of max poolings
};

}  // namespace dllaunch::gpu
