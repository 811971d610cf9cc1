// The operations that are one kernel each way.
#pragma once

#include "trainer/backends/gpu/kernels/elementwise_functors.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/backends/gpu/kernels/pooling_functors.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch::gpu {

/// An operation's arrays for a whole batch.
template <typename T>
struct View {
  GpuStream stream = nullptr;
  Volume in;
  Volume out;
  const T* x = nullptr;
  T* y = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  bool add = false;               // to dx
  std::uint16_t* best = nullptr;  // of a max pooling
};

template <typename T, typename Body>
void over_inputs(const View<T>& v, const Body& body) {
  launch(v.stream, v.in.elements(), body);
}
template <typename T, typename Body>
void over_outputs(const View<T>& v, const Body& body) {
  launch(v.stream, v.out.elements(), body);
}

template <typename T>
void forward(const Relu&, const View<T>& v) {
  over_outputs(v, ReluForward<T>{v.x, v.y});
}
template <typename T>
void backward(const Relu&, const View<T>& v) {
  over_inputs(v, ReluBackward<T>{v.y, v.dy, v.dx, v.add});
}

template <typename T>
void forward(const Tanh&, const View<T>& v) {
  over_outputs(v, TanhForward<T>{v.x, v.y});
}
template <typename T>
void backward(const Tanh&, const View<T>& v) {
  over_inputs(v, TanhBackward<T>{v.y, v.dy, v.dx, v.add});
}

template <typename T>
void forward(const Flatten&, const View<T>& v) {
  over_inputs(v, ToChannelsFirst<T>{v.x, v.y, v.in});
}
template <typename T>
void backward(const Flatten&, const View<T>& v) {
  over_inputs(v, ToChannelsLast<T, T>{v.dy, v.dx, v.in, v.add});
}

template <typename T, typename Op>
void largest_forward(const Op& op, const View<T>& v) {
  over_outputs(v, MaxPoolForward<T>{v.x, v.y, v.best, v.in, v.out, window_of(op)});
}
template <typename T, typename Op>
void largest_backward(const Op& op, const View<T>& v) {
  over_inputs(v, MaxPoolBackward<T>{v.dy, v.best, v.dx, v.in, v.out, window_of(op), v.add});
}
template <typename T>
void forward(const MaxPool2d& op, const View<T>& v) {
  largest_forward(op, v);
}
template <typename T>
void backward(const MaxPool2d& op, const View<T>& v) {
  largest_backward(op, v);
}
template <typename T>
void forward(const MaxPool3d& op, const View<T>& v) {
  largest_forward(op, v);
}
template <typename T>
void backward(const MaxPool3d& op, const View<T>& v) {
  largest_backward(op, v);
}

template <typename T>
void forward(const AvgPool2d& op, const View<T>& v) {
  over_outputs(v, AvgPoolForward<T>{v.x, v.y, v.in, v.out, window_of(op)});
}
template <typename T>
void backward(const AvgPool2d& op, const View<T>& v) {
  over_inputs(v, AvgPoolBackward<T>{v.dy, v.dx, v.in, v.out, window_of(op), v.add});
}

template <typename T>
void forward(const GlobalAvgPool&, const View<T>& v) {
  over_outputs(v, GlobalAvgPoolForward<T>{v.x, v.y, v.in});
}
template <typename T>
void backward(const GlobalAvgPool&, const View<T>& v) {
  over_inputs(v, GlobalAvgPoolBackward<T>{v.dy, v.dx, v.in, v.add});
}

template <typename T>
void forward(const ZeroPad2d& op, const View<T>& v) {
  over_outputs(v, ZeroPadForward<T>{v.x, v.y, v.in, v.out, op.pixels});
}
template <typename T>
void backward(const ZeroPad2d& op, const View<T>& v) {
  over_inputs(v, ZeroPadBackward<T>{v.dy, v.dx, v.in, v.out, op.pixels, v.add});
}

}  // namespace dllaunch::gpu
