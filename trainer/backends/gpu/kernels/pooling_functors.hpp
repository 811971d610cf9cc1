// Pooling and padding. Backward passes gather: each input sums over the windows that contain it, so
// the order of sums is fixed and no atomics are needed. Packs are of neighbouring channels.
#pragma once

#include <array>

#include "trainer/backends/gpu/kernels/layer_kernels.hpp"
#include "trainer/backends/gpu/kernels/packs.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch::gpu {

/// Along depth, height, width.
struct Window {
  std::array<std::int64_t, 3> kernel = {1, 1, 1};
  std::array<std::int64_t, 3> stride = {1, 1, 1};
  std::array<std::int64_t, 3> padding = {0, 0, 0};

  constexpr std::int64_t elements() const { return kernel[0] * kernel[1] * kernel[2]; }
};

constexpr std::array<std::int64_t, 3> along_axes(int extent, std::int64_t depth) {
  return {depth, extent, extent};
}
constexpr std::array<std::int64_t, 3> along_axes(const std::array<int, 3>& extents, std::int64_t) {
  return {extents[0], extents[1], extents[2]};
}
/// Returns the window of a layer that has a kernel.
template <typename Kind>
constexpr Window window_along_axes(const Kind& kind) {
  Window window;
  if constexpr (requires { kind.kernel; }) {
    window.kernel = along_axes(kind.kernel, 1);
    window.stride = along_axes(kind.stride, 1);
  }
  if constexpr (requires { kind.padding; }) window.padding = along_axes(kind.padding, 0);
  return window;
}

/// A window with what a backward pass takes to find those that contain an input.
struct DividedWindow : Window {
  constexpr DividedWindow() = default;
  /// Implicit, so that functors are initialised from windows. For the host: it divides.
  constexpr DividedWindow(const Window& window)
      : Window(window), by_stride{stride[0], stride[1], stride[2]} {}

  std::array<Divisor, 3> by_stride = {};
};

constexpr std::int64_t larger(std::int64_t a, std::int64_t b) {
  return a < b ? b : a;
}
constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

/// A half-open range.
struct Span {
  std::int64_t first = 0;
  std::int64_t end = 0;
};
/// Returns the inputs in the window of output `o`, clipped to `extent`.
constexpr Span inputs_of(std::int64_t o, std::int64_t kernel, std::int64_t stride,
                         std::int64_t padding, std::int64_t extent) {
  const std::int64_t first = o * stride - padding;
  return {larger(first, 0), smaller(first + kernel, extent)};
}
/// Returns the outputs, out of `extent`, whose window contains input `i`.
constexpr Span outputs_of(std::int64_t i, std::int64_t kernel, const Divisor& stride,
                          std::int64_t padding, std::int64_t extent) {
  const std::int64_t last = (i + padding) / stride;
  const std::int64_t before = i + padding - kernel;  // start of the last window that ends before i
  return {before < 0 ? 0 : before / stride + 1, smaller(last + 1, extent)};
}

/// The largest input of each window: the first of equals, or the last NaN. Stores its index within
/// the window, row-major, in `argmax` for the backward pass.
template <typename T>
struct MaxPoolForward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  T* y;
  std::uint16_t* argmax;
  Volume in;
  Grid out;
  Window window;
  bool in_packs() const { return out.channels % pack == 0 && aligned<pack>(x, y, argmax); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const Coordinates o = coordinates_of(out, i);
    const auto& [kernel, stride, padding] = window;
    const Span ds = inputs_of(o.d, kernel[0], stride[0], padding[0], in.depth);
    const Span hs = inputs_of(o.h, kernel[1], stride[1], padding[1], in.height);
    const Span ws = inputs_of(o.w, kernel[2], stride[2], padding[2], in.width);
    Floats<N> most{};
    Pack<N, std::uint16_t> where{};
    bool any = false;
    for (std::int64_t d = ds.first; d < ds.end; ++d) {
      for (std::int64_t h = hs.first; h < hs.end; ++h) {
        const std::int64_t from_d = d - o.d * stride[0] + padding[0];
        const std::int64_t from_h = h - o.h * stride[1] + padding[1];
        const std::int64_t from_w = ws.first - o.w * stride[2] + padding[2];
        auto place = static_cast<std::uint16_t>((from_d * kernel[1] + from_h) * kernel[2] + from_w);
        std::int64_t input = in.at(o.row, d, h, ws.first, o.c);
        for (std::int64_t w = ws.first; w < ws.end; ++w) {
          const auto values = read<N>(x, input);
          for (int k = 0; k < N; ++k) {
            const float value = values.of[k];
            if (any && !(value > most.of[k]) && value == value) continue;
            most.of[k] = value;
            where.of[k] = place;
          }
          any = true;
          input += in.channels;
          ++place;
        }
      }
    }
    write(y, i, most);
    *reinterpret_cast<Pack<N, std::uint16_t>*>(argmax + i) = where;
  }
};

template <typename T>
struct MaxPoolBackward {
  static constexpr int pack = pack_of<T>;
  const T* dy;
  const std::uint16_t* argmax;
  T* dx;
  Grid in;
  Volume out;
  DividedWindow window;
  bool add;
  bool in_packs() const { return in.channels % pack == 0 && aligned<pack>(dy, argmax, dx); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const Coordinates x = coordinates_of(in, i);
    const auto& [kernel, stride, padding] = static_cast<const Window&>(window);
    const Span ds = outputs_of(x.d, kernel[0], window.by_stride[0], padding[0], out.depth);
    const Span hs = outputs_of(x.h, kernel[1], window.by_stride[1], padding[1], out.height);
    const Span ws = outputs_of(x.w, kernel[2], window.by_stride[2], padding[2], out.width);
    Floats<N> sum{};
    for (std::int64_t d = ds.first; d < ds.end; ++d) {
      for (std::int64_t h = hs.first; h < hs.end; ++h) {
        const std::int64_t from_d = x.d - d * stride[0] + padding[0];
        const std::int64_t from_h = x.h - h * stride[1] + padding[1];
        const std::int64_t from_w = x.w - ws.first * stride[2] + padding[2];
        auto mine = static_cast<int>((from_d * kernel[1] + from_h) * kernel[2] + from_w);
        std::int64_t y = out.at(x.row, d, h, ws.first, x.c);
        for (std::int64_t w = ws.first; w < ws.end; ++w) {
          const auto grads = read<N>(dy, y);
          const auto chosen = *reinterpret_cast<const Pack<N, std::uint16_t>*>(argmax + y);
          for (int k = 0; k < N; ++k) {
            if (chosen.of[k] == mine) sum.of[k] += grads.of[k];
          }
          y += out.channels;
          mine -= static_cast<int>(stride[2]);
        }
      }
    }
    write(dx, i, sum, add);
  }
};

template <typename Kind, typename T>
requires(Kind::traits.stores_argmax) struct LayerKernels<Kind, T> {
  static MaxPoolForward<T> forward(const Kind& op, const View<T>& v) {
    return {v.x, v.y, v.argmax, v.in, v.out, window_along_axes(op)};
  }
  static MaxPoolBackward<T> backward(const Kind& op, const View<T>& v) {
    return {v.dy, v.argmax, v.dx, v.in, v.out, window_along_axes(op), v.add};
  }
};

template <typename T>
struct AvgPoolForward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  T* y;
  Volume in;
  Grid out;
  Window window;
  bool in_packs() const { return out.channels % pack == 0 && aligned<pack>(x, y); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const Coordinates o = coordinates_of(out, i);
    const std::int64_t top = o.h * window.stride[1];
    const std::int64_t left = o.w * window.stride[2];
    Floats<N> sum{};
    for (std::int64_t r = 0; r < window.kernel[1]; ++r) {
      for (std::int64_t s = 0; s < window.kernel[2]; ++s) {
        sum += read<N>(x, in.at(o.row, 0, top + r, left + s, o.c));
      }
    }
    write(y, i, sum / static_cast<float>(window.elements()));
  }
};

template <typename T>
struct AvgPoolBackward {
  static constexpr int pack = pack_of<T>;
  const T* dy;
  T* dx;
  Grid in;
  Volume out;
  DividedWindow window;
  bool add;
  bool in_packs() const { return in.channels % pack == 0 && aligned<pack>(dy, dx); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const Coordinates x = coordinates_of(in, i);
    const Span hs = outputs_of(x.h, window.kernel[1], window.by_stride[1], 0, out.height);
    const Span ws = outputs_of(x.w, window.kernel[2], window.by_stride[2], 0, out.width);
    Floats<N> sum{};
    for (std::int64_t h = hs.first; h < hs.end; ++h) {
      for (std::int64_t w = ws.first; w < ws.end; ++w) {
        sum += read<N>(dy, out.at(x.row, 0, h, w, x.c));
      }
    }
    write(dx, i, sum / static_cast<float>(window.elements()), add);
  }
};

/// One index per row and channel.
template <typename T>
struct LayerKernels<AvgPool2d, T> {
  static AvgPoolForward<T> forward(const AvgPool2d& op, const View<T>& v) {
    return {v.x, v.y, v.in, v.out, window_along_axes(op)};
  }
  static AvgPoolBackward<T> backward(const AvgPool2d& op, const View<T>& v) {
    return {v.dy, v.dx, v.in, v.out, window_along_axes(op), v.add};
  }
};

template <typename T>
struct GlobalAvgPoolForward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  T* y;
  Grid in;
  bool in_packs() const { return in.channels % pack == 0 && aligned<pack>(x, y); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t first = i / in.by_channels * in.pixels() * in.channels + i % in.by_channels;
    Floats<N> sum{};
    for (std::int64_t p = 0; p < in.pixels(); ++p) sum += read<N>(x, first + p * in.channels);
    write(y, i, sum / static_cast<float>(in.pixels()));
  }
};

template <typename T>
struct GlobalAvgPoolBackward {
  static constexpr int pack = pack_of<T>;
  const T* dy;
  T* dx;
  Grid in;
  bool add;
  bool in_packs() const { return in.channels % pack == 0 && aligned<pack>(dy, dx); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const std::int64_t row = i / in.by_channels / in.by_pixels;
    const auto grads = read<N>(dy, row * in.channels + i % in.by_channels);
    write(dx, i, grads / static_cast<float>(in.pixels()), add);
  }
};

template <typename T>
struct LayerKernels<GlobalAvgPool, T> {
  static GlobalAvgPoolForward<T> forward(const GlobalAvgPool&, const View<T>& v) {
    return {v.x, v.y, v.in};
  }
  static GlobalAvgPoolBackward<T> backward(const GlobalAvgPool&, const View<T>& v) {
    return {v.dy, v.dx, v.in, v.add};
  }
};

/// Zeros around height and width. One index per output.
template <typename T>
struct ZeroPadForward {
  static constexpr int pack = pack_of<T>;
  const T* x;
  T* y;
  Volume in;
  Grid out;
  std::int64_t pixels;
  bool in_packs() const { return out.channels % pack == 0 && aligned<pack>(x, y); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const Coordinates o = coordinates_of(out, i);
    const std::int64_t h = o.h - pixels;
    const std::int64_t w = o.w - pixels;
    const bool inside = h >= 0 && h < in.height && w >= 0 && w < in.width;
    write(y, i, inside ? read<N>(x, in.at(o.row, 0, h, w, o.c)) : Floats<N>{});
  }
};

/// One index per input.
template <typename T>
struct ZeroPadBackward {
  static constexpr int pack = pack_of<T>;
  const T* dy;
  T* dx;
  Grid in;
  Volume out;
  std::int64_t pixels;
  bool add;
  bool in_packs() const { return in.channels % pack == 0 && aligned<pack>(dy, dx); }
  template <int N>
  constexpr void at(std::int64_t i) const {
    const Coordinates x = coordinates_of(in, i);
    write(dx, i, read<N>(dy, out.at(x.row, 0, x.h + pixels, x.w + pixels, x.c)), add);
  }
};

template <typename T>
struct LayerKernels<ZeroPad2d, T> {
  static ZeroPadForward<T> forward(const ZeroPad2d& op, const View<T>& v) {
    return {v.x, v.y, v.in, v.out, op.pixels};
  }
  static ZeroPadBackward<T> backward(const ZeroPad2d& op, const View<T>& v) {
    return {v.dy, v.dx, v.in, v.out, op.pixels, v.add};
  }
};

}  // namespace dllaunch::gpu
