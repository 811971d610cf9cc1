#pragma once

#include <limits>

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// y[t,w] = weight[x[t],w]: one row per token. x holds whole numbers; one outside [0, vocabulary)
/// gives NaN and has no gradient. Parameter: weight [vocabulary, width].
struct Embedding {
  static constexpr std::string_view name = "embedding";
  static constexpr LayerTraits traits{.backward_reads_y = false};

  int vocabulary = 0;
  int width = 0;
  double deviation = 0.02;  // of the initial weights: GPT-2's

  static constexpr auto keys() {
    return std::tuple(needed_key("vocabulary", &Embedding::vocabulary),
                      needed_key("width", &Embedding::width));
  }
};

inline Inferred infer(const Embedding& op, const Shape& x) {
  if (x.size() != 1) return shape_error("needs a vector of tokens, got {}", {x});
  if (op.vocabulary < 1 || op.width < 1) {
    return shape_error("cannot have {} rows of {}", {op.vocabulary, op.width});
  }
  Inferred inferred = shape_only({x[0], op.width});
  inferred.parameters = {{.name = "weight",
                          .shape = {op.vocabulary, op.width},
                          .fan_in = op.vocabulary,
                          .fan_out = op.width,
                          .initial = Initial::normal,
                          .deviation = op.deviation}};
  return inferred;
}

/// Returns the row of a token; -1: there is none. Also for NaN.
template <typename Real>
constexpr std::int64_t row_of_token(Real token, std::int64_t vocabulary) {
  return token >= 0 && token < static_cast<Real>(vocabulary) ? static_cast<std::int64_t>(token)
                                                             : -1;
}

namespace reference {

template <typename Real>
void forward(const Embedding& op, const View<Real>& v) {
  for (std::int64_t t = 0; t < v.x_shape[0]; ++t) {
    const std::int64_t row = row_of_token(v.x[t], op.vocabulary);
    for (std::int64_t w = 0; w < op.width; ++w) {
      v.y[t * op.width + w] =
          row < 0 ? std::numeric_limits<Real>::quiet_NaN() : v.weight[row * op.width + w];
    }
  }
}

template <typename Real>
void backward(const Embedding& op, const View<Real>& v) {
  for (std::int64_t t = 0; t < v.x_shape[0]; ++t) {
    const std::int64_t row = row_of_token(v.x[t], op.vocabulary);
    for (std::int64_t w = 0; row >= 0 && w < op.width; ++w) {
      v.dweight[row * op.width + w] += v.dy[t * op.width + w];
    }
  }
}

}  // namespace reference
}  // namespace dllaunch
