// Implements norm_kernels.hpp; compiled for several instruction sets by norm_x86.cpp and
// norm_portable.cpp. `width` is the size of a vector register in bytes.
#pragma once

#include "runtime/numerics/vectors.hpp"
#include "trainer/backends/onednn/norm_kernels.hpp"

namespace dllaunch::onednn {

/// `count` vectors of one piece, from element `first` on, `step` elements apart. Each lane is a
/// channel, unless the piece has only one.
struct VectorRun {
  std::size_t first = 0;
  std::size_t step = 0;
  std::size_t count = 0;
  std::size_t channel = 0;  // of the first lane
};

/// Calls function(lanes, VectorRun) for runs that cover the piece; `lanes` is a compile-time
/// constant. A vector holds adjacent channels, or adjacent pixels if the piece has only one
/// channel.
template <std::size_t width, typename Function>
[[gnu::always_inline]] inline void for_each_run(const NormPiece& piece, const Function& function) {
  constexpr std::size_t lanes = width / sizeof(float);
  constexpr std::integral_constant<std::size_t, lanes> wide;
  constexpr std::integral_constant<std::size_t, 1> one;
  if (piece.lanes == 1) {
    const std::size_t whole = piece.pixels / lanes;
    if (whole > 0) function(wide, VectorRun{0, lanes, whole, 0});
    const std::size_t rest = whole * lanes;
    if (rest < piece.pixels) function(one, VectorRun{rest, 1, piece.pixels - rest, 0});
    return;
  }
  std::size_t lane = 0;
  for (; lane + lanes <= piece.lanes; lane += lanes) {
    function(wide, VectorRun{lane, piece.lanes, piece.pixels, lane});
  }
  for (; lane < piece.lanes; ++lane)
    function(one, VectorRun{lane, piece.lanes, piece.pixels, lane});
}

template <typename T, std::size_t lanes>
[[gnu::always_inline]] inline void load_at(const std::byte* data, std::size_t element,
                                           Vector<float, lanes>& x) {
  load_vector<T, lanes>(data + element * sizeof(T), x);
}

/// Loads one value per channel; broadcasts it if the piece has only one channel.
template <std::size_t lanes>
[[gnu::always_inline]] inline void load_channels(const NormPiece& piece, const float* values,
                                                 const VectorRun& run, Vector<float, lanes>& x) {
  if (piece.lanes == 1) {
    x = Vector<float, lanes>{} + values[0];
  } else {
    __builtin_memcpy(&x, values + run.channel, sizeof x);
  }
}

/// Adds each lane's sum to its channel, or all lanes' to the only channel.
template <std::size_t lanes>
[[gnu::always_inline]] inline void add_channels(const NormPiece& piece, const VectorRun& run,
                                                const Vector<float, lanes>& sums, float* values) {
  for (std::size_t i = 0; i < lanes; ++i) {
    values[piece.lanes == 1 ? 0 : run.channel + i] += sums[i];
  }
}

constexpr std::size_t sums_at_once = 4;  // independent accumulators hide the add latency

/// Sums value(element) over a run; each call returns `terms` values.
template <std::size_t lanes, std::size_t terms, typename Value>
[[gnu::always_inline]] inline void sum_run(const VectorRun& run, const Value& value,
                                           Vector<float, lanes> (&total)[terms]) {
  using V = Vector<float, lanes>;
  V sums[sums_at_once][terms] = {};
  std::size_t i = 0;
  for (; i + sums_at_once <= run.count; i += sums_at_once) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < sums_at_once; ++k) value(run.first + (i + k) * run.step, sums[k]);
  }
  for (; i < run.count; ++i) value(run.first + i * run.step, sums[0]);
  for (std::size_t t = 0; t < terms; ++t) {
    total[t] = (sums[0][t] + sums[1][t]) + (sums[2][t] + sums[3][t]);
  }
}

template <typename T, std::size_t width>
[[gnu::always_inline]] inline void measure_piece(const NormPiece& piece, float* mean,
                                                 float* squares) {
  const auto pixels = static_cast<float>(piece.pixels);
  for (std::size_t i = 0; i < piece.lanes; ++i) mean[i] = squares[i] = 0;
  for_each_run<width>(
      piece, [&](auto lanes, const VectorRun& run) __attribute__((always_inline)) {
        using V = Vector<float, lanes()>;
        V sum[1];
        sum_run<lanes(), 1>(
            run,
            [&](std::size_t at, V(&sums)[1]) __attribute__((always_inline)) {
              V x;
              load_at<T, lanes()>(piece.x, at, x);
              sums[0] += x;
            },
            sum);
        add_channels<lanes()>(piece, run, sum[0], mean);
      });
  for (std::size_t i = 0; i < piece.lanes; ++i) mean[i] /= pixels;
  // Two passes, the second from the cache: avoids the cancellation of E[x^2] - E[x]^2.
  for_each_run<width>(
      piece, [&](auto lanes, const VectorRun& run) __attribute__((always_inline)) {
        using V = Vector<float, lanes()>;
        V middle;
        load_channels<lanes()>(piece, mean, run, middle);
        V sum[1];
        sum_run<lanes(), 1>(
            run,
            [&](std::size_t at, V(&sums)[1]) __attribute__((always_inline)) {
              V x;
              load_at<T, lanes()>(piece.x, at, x);
              x -= middle;
              sums[0] += x * x;
            },
            sum);
        add_channels<lanes()>(piece, run, sum[0], squares);
      });
}

/// The coefficients of a run's channels.
template <std::size_t lanes>
struct Affine {
  Vector<float, lanes> mean;
  Vector<float, lanes> scale;
  Vector<float, lanes> shift;
};

template <std::size_t lanes>
[[gnu::always_inline]] inline void load_affine(const NormPiece& piece, const VectorRun& run,
                                               Affine<lanes>& affine) {
  load_channels<lanes>(piece, piece.mean, run, affine.mean);
  load_channels<lanes>(piece, piece.scale, run, affine.scale);
  load_channels<lanes>(piece, piece.shift, run, affine.shift);
}

/// Computes y before skip and ReLU. Shared, so that the backward pass gets the same mask.
template <std::size_t lanes>
[[gnu::always_inline]] inline void apply(const Affine<lanes>& affine, const Vector<float, lanes>& x,
                                         Vector<float, lanes>& y) {
  y = (x - affine.mean) * affine.scale + affine.shift;
}

template <typename T, std::size_t width, bool relu, bool has_skip>
[[gnu::always_inline]] inline void normalise_piece(const NormPiece& piece) {
  for_each_run<width>(
      piece, [&](auto lanes, const VectorRun& run) __attribute__((always_inline)) {
        using V = Vector<float, lanes()>;
        Affine<lanes()> affine;
        load_affine<lanes()>(piece, run, affine);
        for (std::size_t i = 0; i < run.count; ++i) {
          const std::size_t at = run.first + i * run.step;
          V x;
          V y;
          load_at<T, lanes()>(piece.x, at, x);
          apply<lanes()>(affine, x, y);
          if constexpr (has_skip) {
            V skip;
            load_at<T, lanes()>(piece.skip, at, skip);
            y += skip;
          }
          if constexpr (relu) y = y < 0 ? V{} : y;  // keeps NaN
          store_vector<T, lanes()>(y, piece.y + at * sizeof(T));
        }
      });
}

template <typename T, std::size_t width>
[[gnu::always_inline]] inline void normalise_any(const NormPiece& piece) {
  const bool skip = piece.skip != nullptr;
  if (piece.relu)
    return skip ? normalise_piece<T, width, true, true>(piece)
                : normalise_piece<T, width, true, false>(piece);
  return skip ? normalise_piece<T, width, false, true>(piece)
              : normalise_piece<T, width, false, false>(piece);
}

enum class Mask { none, of_y, of_x };

template <typename T, std::size_t width, Mask mask, bool two>
[[gnu::always_inline]] inline void sum_piece(const NormPiece& piece, float* dy_sum, float* dy_z) {
  for (std::size_t i = 0; i < piece.lanes; ++i) dy_sum[i] = dy_z[i] = 0;
  for_each_run<width>(
      piece, [&](auto lanes, const VectorRun& run) __attribute__((always_inline)) {
        using V = Vector<float, lanes()>;
        Affine<lanes()> affine;
        V inv_std;
        load_affine<lanes()>(piece, run, affine);
        load_channels<lanes()>(piece, piece.inv_std, run, inv_std);
        V sums[2];
        sum_run<lanes(), 2>(
            run,
            [&](std::size_t at, V(&into)[2]) __attribute__((always_inline)) {
              V dy;
              load_at<T, lanes()>(piece.parts[0], at, dy);
              if constexpr (two) {
                V other;
                load_at<T, lanes()>(piece.parts[1], at, other);
                dy += other;
              }
              V x;
              load_at<T, lanes()>(piece.x, at, x);
              if constexpr (mask != Mask::none) {
                V y;
                if constexpr (mask == Mask::of_y) {
                  load_at<T, lanes()>(piece.y, at, y);
                } else {
                  apply<lanes()>(affine, x, y);
                }
                dy = y <= 0 ? V{} : dy;
              }
              if (piece.masked != nullptr)
                store_vector<T, lanes()>(dy, piece.masked + at * sizeof(T));
              into[0] += dy;
              into[1] += dy * (x - affine.mean);
            },
            sums);
        sums[1] *= inv_std;
        add_channels<lanes()>(piece, run, sums[0], dy_sum);
        add_channels<lanes()>(piece, run, sums[1], dy_z);
      });
}

template <typename T, std::size_t width, Mask mask>
[[gnu::always_inline]] inline void sum_parts(const NormPiece& piece, float* dy, float* dy_z) {
  return piece.parts[1] != nullptr ? sum_piece<T, width, mask, true>(piece, dy, dy_z)
                                   : sum_piece<T, width, mask, false>(piece, dy, dy_z);
}

template <typename T, std::size_t width>
[[gnu::always_inline]] inline void sum_any(const NormPiece& piece, float* dy, float* dy_z) {
  if (!piece.relu) return sum_parts<T, width, Mask::none>(piece, dy, dy_z);
  return piece.y != nullptr ? sum_parts<T, width, Mask::of_y>(piece, dy, dy_z)
                            : sum_parts<T, width, Mask::of_x>(piece, dy, dy_z);
}

template <typename T, std::size_t width, bool relu>
[[gnu::always_inline]] inline void backward_piece(const NormPiece& piece) {
  for_each_run<width>(
      piece, [&](auto lanes, const VectorRun& run) __attribute__((always_inline)) {
        using V = Vector<float, lanes()>;
        Affine<lanes()> affine;
        V grad_mean;
        V proj_scale;
        load_affine<lanes()>(piece, run, affine);
        load_channels<lanes()>(piece, piece.grad_mean, run, grad_mean);
        load_channels<lanes()>(piece, piece.proj_scale, run, proj_scale);
        for (std::size_t i = 0; i < run.count; ++i) {
          const std::size_t at = run.first + i * run.step;
          V x;
          V dy;
          load_at<T, lanes()>(piece.x, at, x);
          load_at<T, lanes()>(piece.dy, at, dy);
          if constexpr (relu) {
            V y;
            apply<lanes()>(affine, x, y);
            dy = y <= 0 ? V{} : dy;
          }
          const V dx = (dy - grad_mean - (x - affine.mean) * proj_scale) * affine.scale;
          store_vector<T, lanes()>(dx, piece.dx + at * sizeof(T));
        }
      });
}

template <typename T, std::size_t width>
[[gnu::always_inline]] inline void backward_any(const NormPiece& piece) {
  return piece.relu ? backward_piece<T, width, true>(piece)
                    : backward_piece<T, width, false>(piece);
}

}  // namespace dllaunch::onednn
