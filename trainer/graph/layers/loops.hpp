// Common parts of the layers' loops: plain loops over one image, run by the `reference` backend.
// They define what other backends must compute. forward() overwrites y; backward() adds to dx,
// dweight and dbias.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "trainer/graph/layers/layer.hpp"

namespace dllaunch::reference {

/// A node's arrays for one image: input x, output y, and the gradients dx and dy of the loss with
/// respect to them. nullptr: absent or not needed.
template <typename Real>
struct View {
  const Shape& x_shape;
  const Shape& y_shape;
  const Real* x = nullptr;
  Real* y = nullptr;
  const Real* weight = nullptr;
  const Real* bias = nullptr;
  Real* dx = nullptr;
  const Real* dy = nullptr;
  Real* dweight = nullptr;
  Real* dbias = nullptr;
  const Real* other_x = nullptr;
  Real* other_dx = nullptr;
};

/// The outputs [first, end) whose input position, i * stride + offset, is inside the image.
struct ValidOutputs {
  std::int64_t first;
  std::int64_t end;

  ValidOutputs(std::int64_t outputs, std::int64_t inputs, int stride, std::int64_t offset) {
    first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    end = offset >= inputs ? 0 : std::min(outputs, (inputs - 1 - offset) / stride + 1);
  }
};

template <typename Kind, typename Real>
requires(Kind::traits.activation) void forward(const Kind&, const View<Real>& v) {
  std::transform(v.x, v.x + elements_of(v.x_shape), v.y, [](Real x) { return Kind::value(x); });
}

template <typename Kind, typename Real>
requires(Kind::traits.activation) void backward(const Kind&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) {
    v.dx[i] += Kind::gradient(v.y[i], v.dy[i]);
  }
}

}  // namespace dllaunch::reference
