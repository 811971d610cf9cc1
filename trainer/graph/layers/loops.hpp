// What the loops of all kinds of layers have in common. They are plain loops over one image, run by
// the `reference` backend: the definition that other backends must meet. forward() overwrites y,
// backward() adds to dx, dweight and dbias.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "trainer/graph/layers/layer.hpp"

namespace dllaunch::reference {

/// What one node reads and writes for one image: x and y are its input and output, dx and dy the
/// gradients of the loss with respect to them. Absent things are null: the bias of a node without
/// one, dx where nothing reads it, the second input of a node with one.
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

/// Output positions [first, end) whose input position, i * stride + offset, lies in the image.
struct Inside {
  std::int64_t first;
  std::int64_t end;

  Inside(std::int64_t outputs, std::int64_t inputs, int stride, std::int64_t offset) {
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
