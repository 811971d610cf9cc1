#include "trainer/backends/gpu/update/step_clock.hpp"

#include <utility>

#include "trainer/backends/gpu/check.hpp"

namespace dllaunch::gpu {
namespace {

double seconds_between(GpuEvent from, GpuEvent to) {
  float milliseconds = 0;
  check(gpu_milliseconds_between(milliseconds, from, to), "time between events");
  return static_cast<double>(milliseconds) / 1e3;
}

}  // namespace

StepClock::~StepClock() {
  for (const Step& step : steps_) {
    for (GpuEvent event : {step.begin, step.backward_end, step.update_begin, step.end}) {
      if (event != nullptr) static_cast<void>(gpu_destroy_event(event));
    }
  }
}

void StepClock::start() {
  if (steps_[0].begin != nullptr) return;
  for (Step& step : steps_) {
    for (GpuEvent* event : {&step.begin, &step.backward_end, &step.update_begin, &step.end}) {
      check(gpu_create_timed_event(*event), "event");
    }
  }
}

void StepClock::count(const Step& step, const Step* next) {
  times_.steps += 1;
  times_.busy_s += seconds_between(step.begin, step.end);
  times_.exposed_s += seconds_between(step.backward_end, step.update_begin);
  if (next == nullptr) return;
  times_.gaps += 1;
  times_.idle_s += seconds_between(step.end, next->begin);
}

void StepClock::forward_begins() {
  if (at_ == At::forward || at_ == At::backward) return;  // another micro-batch
  start();
  if (at_ == At::update) ++number_;
  // The oldest step's events are reused. The device has long passed them, and the start of the step
  // after it.
  if (number_ >= counted_ + steps_.size()) {
    count(now(), &steps_[(number_ + 1) % steps_.size()]);
    ++counted_;
  }
  check(gpu_record(now().begin, nullptr), "record");
  at_ = At::forward;
}

void StepClock::backward_ended() {
  if (at_ != At::forward && at_ != At::backward) return;
  check(gpu_record(now().backward_end, nullptr), "record");
  at_ = At::backward;
}

void StepClock::update_begins() {
  if (at_ != At::backward) return;
  check(gpu_record(now().update_begin, nullptr), "record");
  check(gpu_record(now().end, nullptr), "record");
  at_ = At::update;
}

void StepClock::update_ended() {
  if (at_ == At::update) check(gpu_record(now().end, nullptr), "record");
}

StepTimes StepClock::take() {
  const std::size_t ended = at_ == At::update ? number_ + 1 : number_;
  // Costs nothing: the caller (end of an epoch) waits for the device next anyway.
  if (counted_ < ended) check(gpu_synchronise(nullptr), "step");
  for (; counted_ < ended; ++counted_) {
    const bool last = counted_ + 1 == ended;
    count(steps_[counted_ % steps_.size()],
          last ? nullptr : &steps_[(counted_ + 1) % steps_.size()]);
  }
  number_ = 0;
  counted_ = 0;
  at_ = At::nowhere;
  return std::exchange(times_, {});
}

}  // namespace dllaunch::gpu
