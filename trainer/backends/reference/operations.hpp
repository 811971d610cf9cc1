// Every operation as plain loops over one image: the definition that other backends must meet.
// x and y are the node's input and output, dx and dy the gradients of the loss with respect to
// them. forward() overwrites y. backward() adds to dx, dweight and dbias.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "trainer/graph/graph.hpp"

namespace dllaunch::reference {

/// What one node reads and writes for one image. Absent things are null: the bias of a node without
/// one, dx where nobody asks for it, the second input of a node with one.
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

/// Calls visit(w, y_row, x_row, columns) for every weight w[k,c,r,s] and every output row i it
/// touches: y_row and x_row index y[k,i,0] and x[c, i*stride+r-padding, s-padding]; output column j
/// in `columns` reads x_row + j*stride.
template <typename Visit>
void for_each_tap(const Conv2d& op, const Shape& x, const Shape& y, const Visit& visit) {
  std::int64_t w = 0;
  for (std::int64_t k = 0; k < y[0]; ++k) {
    for (std::int64_t c = 0; c < x[0]; ++c) {
      for (int r = 0; r < op.kernel; ++r) {
        for (int s = 0; s < op.kernel; ++s, ++w) {
          const Inside rows(y[1], x[1], op.stride, r - op.padding);
          const Inside columns(y[2], x[2], op.stride, s - op.padding);
          for (std::int64_t i = rows.first; i < rows.end; ++i) {
            const std::int64_t h = i * op.stride + r - op.padding;
            visit(w, (k * y[1] + i) * y[2], (c * x[1] + h) * x[2] + s - op.padding, columns);
          }
        }
      }
    }
  }
}

template <typename Real>
void forward(const Conv2d& op, const View<Real>& v) {
  const std::int64_t pixels = v.y_shape[1] * v.y_shape[2];
  for (std::int64_t k = 0; k < v.y_shape[0]; ++k) {
    std::fill_n(v.y + k * pixels, pixels, v.bias != nullptr ? v.bias[k] : Real{0});
  }
  for_each_tap(op, v.x_shape, v.y_shape,
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const Inside& columns) {
                 const Real weight = v.weight[w];
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   v.y[y + j] += weight * v.x[x + j * op.stride];
                 }
               });
}

template <typename Real>
void backward(const Conv2d& op, const View<Real>& v) {
  for_each_tap(op, v.x_shape, v.y_shape,
               [&](std::int64_t w, std::int64_t y, std::int64_t x, const Inside& columns) {
                 Real sum = 0;
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   sum += v.dy[y + j] * v.x[x + j * op.stride];
                 }
                 v.dweight[w] += sum;
                 if (v.dx == nullptr) return;
                 const Real weight = v.weight[w];
                 for (std::int64_t j = columns.first; j < columns.end; ++j) {
                   v.dx[x + j * op.stride] += weight * v.dy[y + j];
                 }
               });
  if (v.dbias == nullptr) return;
  const std::int64_t pixels = v.y_shape[1] * v.y_shape[2];
  for (std::int64_t k = 0; k < v.y_shape[0]; ++k) {
    for (std::int64_t p = 0; p < pixels; ++p) v.dbias[k] += v.dy[k * pixels + p];
  }
}

template <typename Real>
void forward(const Dense&, const View<Real>& v) {
  const std::int64_t features = v.x_shape[0];
  for (std::int64_t u = 0; u < v.y_shape[0]; ++u) {
    Real sum = v.bias != nullptr ? v.bias[u] : Real{0};
    for (std::int64_t f = 0; f < features; ++f) sum += v.weight[u * features + f] * v.x[f];
    v.y[u] = sum;
  }
}

template <typename Real>
void backward(const Dense&, const View<Real>& v) {
  const std::int64_t features = v.x_shape[0];
  for (std::int64_t u = 0; u < v.y_shape[0]; ++u) {
    const Real dy = v.dy[u];
    for (std::int64_t f = 0; f < features; ++f) v.dweight[u * features + f] += dy * v.x[f];
    if (v.dbias != nullptr) v.dbias[u] += dy;
    if (v.dx == nullptr) continue;
    for (std::int64_t f = 0; f < features; ++f) v.dx[f] += dy * v.weight[u * features + f];
  }
}

/// Calls visit(y, corner) for every output, where `corner` indexes the window's first input.
template <typename Visit>
void for_each_window(int stride, const Shape& x, const Shape& y, const Visit& visit) {
  std::int64_t output = 0;
  for (std::int64_t c = 0; c < y[0]; ++c) {
    for (std::int64_t i = 0; i < y[1]; ++i) {
      for (std::int64_t j = 0; j < y[2]; ++j, ++output) {
        visit(output, (c * x[1] + i * stride) * x[2] + j * stride);
      }
    }
  }
}

/// Calls visit(y, best) for every output: `best` is the index of the window's largest input, the
/// first of equals, or the last NaN.
template <typename Real, typename Visit>
void for_each_largest(const MaxPool2d& op, const View<Real>& v, const Visit& visit) {
  const Shape& x = v.x_shape;
  std::int64_t output = 0;
  for (std::int64_t c = 0; c < v.y_shape[0]; ++c) {
    for (std::int64_t i = 0; i < v.y_shape[1]; ++i) {
      for (std::int64_t j = 0; j < v.y_shape[2]; ++j, ++output) {
        const std::int64_t top = i * op.stride - op.padding;
        const std::int64_t left = j * op.stride - op.padding;
        std::int64_t best = -1;
        for (std::int64_t h = std::max(top, std::int64_t{0}); h < std::min(top + op.kernel, x[1]);
             ++h) {
          for (std::int64_t w = std::max(left, std::int64_t{0});
               w < std::min(left + op.kernel, x[2]); ++w) {
            const std::int64_t at = (c * x[1] + h) * x[2] + w;
            if (best < 0 || v.x[at] > v.x[best] || std::isnan(v.x[at])) best = at;
          }
        }
        visit(output, best);
      }
    }
  }
}

template <typename Real>
void forward(const MaxPool2d& op, const View<Real>& v) {
  for_each_largest(op, v, [&](std::int64_t y, std::int64_t best) { v.y[y] = v.x[best]; });
}

template <typename Real>
void backward(const MaxPool2d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for_each_largest(op, v, [&](std::int64_t y, std::int64_t best) { v.dx[best] += v.dy[y]; });
}

template <typename Real>
void forward(const AvgPool2d& op, const View<Real>& v) {
  const Real area = static_cast<Real>(op.kernel) * static_cast<Real>(op.kernel);
  for_each_window(op.stride, v.x_shape, v.y_shape, [&](std::int64_t y, std::int64_t corner) {
    Real sum = 0;
    for (int r = 0; r < op.kernel; ++r) {
      for (int s = 0; s < op.kernel; ++s) sum += v.x[corner + r * v.x_shape[2] + s];
    }
    v.y[y] = sum / area;
  });
}

template <typename Real>
void backward(const AvgPool2d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  const Real area = static_cast<Real>(op.kernel) * static_cast<Real>(op.kernel);
  for_each_window(op.stride, v.x_shape, v.y_shape, [&](std::int64_t y, std::int64_t corner) {
    const Real share = v.dy[y] / area;
    for (int r = 0; r < op.kernel; ++r) {
      for (int s = 0; s < op.kernel; ++s) v.dx[corner + r * v.x_shape[2] + s] += share;
    }
  });
}

template <typename Real>
void forward(const GlobalAvgPool&, const View<Real>& v) {
  const std::int64_t pixels = elements_of(v.x_shape) / v.x_shape[0];
  for (std::int64_t c = 0; c < v.x_shape[0]; ++c) {
    const Real* x = v.x + c * pixels;
    v.y[c] = std::accumulate(x, x + pixels, Real{0}) / static_cast<Real>(pixels);
  }
}

template <typename Real>
void backward(const GlobalAvgPool&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  const std::int64_t pixels = elements_of(v.x_shape) / v.x_shape[0];
  for (std::int64_t c = 0; c < v.x_shape[0]; ++c) {
    const Real share = v.dy[c] / static_cast<Real>(pixels);
    for (std::int64_t p = 0; p < pixels; ++p) v.dx[c * pixels + p] += share;
  }
}

/// Calls visit(y, x, columns) for every row of the image: where it begins in y and in x.
template <typename Visit>
void for_each_padded_row(int pixels, const Shape& x, const Shape& y, const Visit& visit) {
  for (std::int64_t c = 0; c < x[0]; ++c) {
    for (std::int64_t h = 0; h < x[1]; ++h) {
      visit((c * y[1] + h + pixels) * y[2] + pixels, (c * x[1] + h) * x[2], x[2]);
    }
  }
}

template <typename Real>
void forward(const ZeroPad2d& op, const View<Real>& v) {
  std::fill_n(v.y, elements_of(v.y_shape), Real{0});
  for_each_padded_row(op.pixels, v.x_shape, v.y_shape,
                      [&](std::int64_t y, std::int64_t x, std::int64_t columns) {
                        std::copy_n(v.x + x, columns, v.y + y);
                      });
}

template <typename Real>
void backward(const ZeroPad2d& op, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for_each_padded_row(op.pixels, v.x_shape, v.y_shape,
                      [&](std::int64_t y, std::int64_t x, std::int64_t columns) {
                        for (std::int64_t j = 0; j < columns; ++j) v.dx[x + j] += v.dy[y + j];
                      });
}

// A NaN is neither below nor above zero: written so that it passes.
template <typename Real>
void forward(const Relu&, const View<Real>& v) {
  std::transform(v.x, v.x + elements_of(v.x_shape), v.y, [](Real x) { return x < 0 ? 0 : x; });
}

template <typename Real>
void backward(const Relu&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) v.dx[i] += v.y[i] <= 0 ? 0 : v.dy[i];
}

template <typename Real>
void forward(const Tanh&, const View<Real>& v) {
  std::transform(v.x, v.x + elements_of(v.x_shape), v.y, [](Real x) { return std::tanh(x); });
}

template <typename Real>
void backward(const Tanh&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) {
    v.dx[i] += (1 - v.y[i] * v.y[i]) * v.dy[i];
  }
}

template <typename Real>
void forward(const Add&, const View<Real>& v) {
  std::transform(v.x, v.x + elements_of(v.x_shape), v.other_x, v.y, std::plus<>());
}

template <typename Real>
void backward(const Add&, const View<Real>& v) {
  for (Real* const dx : {v.dx, v.other_dx}) {
    if (dx == nullptr) continue;
    for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) dx[i] += v.dy[i];
  }
}

template <typename Real>
void forward(const Flatten&, const View<Real>& v) {
  std::copy_n(v.x, elements_of(v.x_shape), v.y);
}

template <typename Real>
void backward(const Flatten&, const View<Real>& v) {
  if (v.dx == nullptr) return;
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) v.dx[i] += v.dy[i];
}

// The input is written by the executable, and nobody asks for its gradient.
template <typename Real>
void forward(const Input&, const View<Real>&) {}

template <typename Real>
void backward(const Input&, const View<Real>&) {}

}  // namespace dllaunch::reference
