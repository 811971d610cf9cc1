// Where the time of training steps goes, by events on the stream that computes.
#pragma once

#include <array>
#include <cstddef>

#include "gpu_api.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

/// A step begins with its first forward pass behind an update, and is over with the last update
/// behind its backward passes; a step that fp16 leaves out, with the look at its gradients. Marks
/// cost an event each; only take() waits for the device.
class StepClock {
 public:
  StepClock() = default;
  ~StepClock();
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  // On the default stream, behind what it was given so far.
  void forward_begins();
  void backward_ended();
  void update_begins();
  void update_ended();

  /// Of the steps since the last call. The next step has no gap before it.
  StepTimes take();

 private:
  enum class At { nowhere, forward, backward, update };
  /// Of one step, as the device comes to it.
  struct Step {
    GpuEvent begin = nullptr;
    GpuEvent backward_end = nullptr;
    GpuEvent update_begin = nullptr;
    GpuEvent end = nullptr;
  };

  Step& now() { return steps_[number_ % steps_.size()]; }
  void start();
  void count(const Step& step, const Step* next);

  /// The host is a step ahead of the device at most: it waits for each loss.
  std::array<Step, 4> steps_ = {};
  std::size_t number_ = 0;   // of the step under way, counted from the last take()
  std::size_t counted_ = 0;  // steps that are in times_
  At at_ = At::nowhere;
  StepTimes times_;
};

}  // namespace dllaunch::gpu
