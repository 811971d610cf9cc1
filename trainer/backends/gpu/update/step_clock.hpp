// Times training steps by events on the compute stream.
#pragma once

#include <array>
#include <cstddef>

#include "gpu_api.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch::gpu {

/// A step lasts from the first forward pass after an update to the end of the last update; one that
/// fp16 skips, to the end of the check of its gradients. Each call records one or two events; only
/// take() waits for the device.
class StepClock {
 public:
  StepClock() = default;
  ~StepClock();
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  // On the default stream, after all work enqueued so far.
  void forward_begins();
  void backward_ended();
  void update_begins();
  void update_ended();

  /// Returns the times of the steps since the last call. The next step counts no gap before it.
  StepTimes take();

 private:
  enum class At { nowhere, forward, backward, update };
  /// Events of one step.
  struct Step {
    GpuEvent begin = nullptr;
    GpuEvent backward_end = nullptr;
    GpuEvent update_begin = nullptr;
    GpuEvent end = nullptr;
  };

  Step& now() { return steps_[number_ % steps_.size()]; }
  void start();
  void count(const Step& step, const Step* next);

  /// A ring: the host is at most one step ahead of the device, since it waits for each loss.
  std::array<Step, 4> steps_ = {};
  std::size_t number_ = 0;   // of the current step, since the last take()
  std::size_t counted_ = 0;  // steps included in times_
  At at_ = At::nowhere;
  StepTimes times_;
};

}  // namespace dllaunch::gpu
