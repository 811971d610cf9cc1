#pragma once

#include <span>
#include <vector>

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// Self-attention of several heads (Vaswani et al. 2017), between the projections before and after
/// it. A token of x is its query, its key and its value, each `width` numbers of which a head has
/// the next `size` = width / heads. Head h of token t:
///   y[t] = sum over s of softmax over s(query[t] . key[s] / sqrt(size)) value[s]
/// over all tokens s, or, if `causal`, those with s <= t.   x [tokens, 3 width] -> [tokens, width]
struct Attention {
  static constexpr std::string_view name = "attention";
  static constexpr LayerTraits traits{.backward_reads_y = false};

  int heads = 1;
  bool causal = false;

  static constexpr auto keys() {
    return std::tuple(needed_key("heads", &Attention::heads), key("causal", &Attention::causal));
  }
};

inline Inferred infer(const Attention& op, const Shape& x) {
  if (x.size() != 2) return needs_sequence(x);
  if (op.heads < 1) return shape_error("needs at least 1 head, got {}", {op.heads});
  if (x[1] % (3 * std::int64_t{op.heads}) != 0) {
    return shape_error("cannot split {} into query, key and value of {} heads", {x[1], op.heads});
  }
  return shape_only({x[0], x[1] / 3});
}

namespace reference {

/// One head: the arrays' first element of token 0, and the elements from token to token.
template <typename Real>
struct Head {
  std::int64_t tokens;
  std::int64_t size;
  std::int64_t width;
  Real scale;
  const Real* query;
  const Real* key;
  const Real* value;

  Head(const Attention& op, const View<Real>& v, std::int64_t head)
      : tokens(v.y_shape[0]),
        size(v.y_shape[1] / op.heads),
        width(v.y_shape[1]),
        scale(1 / std::sqrt(static_cast<Real>(size))),
        query(v.x + head * size),
        key(query + width),
        value(key + width) {}

  Real dot(const Real* a, const Real* b) const {
    Real sum = 0;
    for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
    return sum;
  }

  /// Writes the weights of token t's sum over values.
  void weights(std::int64_t t, std::span<Real> p) const {
    Real largest = -std::numeric_limits<Real>::infinity();
    for (std::size_t s = 0; s < p.size(); ++s) {
      const auto of_key = static_cast<std::int64_t>(s) * 3 * width;
      p[s] = scale * dot(query + t * 3 * width, key + of_key);
      if (!(p[s] <= largest)) largest = p[s];
    }
    Real sum = 0;
    for (Real& one : p) sum += one = std::exp(one - largest);
    for (Real& one : p) one /= sum;
  }
};

template <typename Real>
void forward(const Attention& op, const View<Real>& v) {
  for (std::int64_t h = 0; h < op.heads; ++h) {
    const Head<Real> head(op, v, h);
    std::vector<Real> p(static_cast<std::size_t>(head.tokens));
    for (std::int64_t t = 0; t < head.tokens; ++t) {
      const std::int64_t seen = op.causal ? t + 1 : head.tokens;
      head.weights(t, std::span(p).first(static_cast<std::size_t>(seen)));
      Real* const y = v.y + t * head.width + h * head.size;
      std::fill_n(y, head.size, Real{0});
      for (std::int64_t s = 0; s < seen; ++s) {
        const Real* const value = head.value + s * 3 * head.width;
        for (std::int64_t i = 0; i < head.size; ++i)
          y[i] += p[static_cast<std::size_t>(s)] * value[i];
      }
    }
  }
}

/// With the weights p of token t and dp[s] = dy . value[s]: the gradient of the scaled products is
/// p (dp - sum over s of p dp).
template <typename Real>
void backward(const Attention& op, const View<Real>& v) {
  for (std::int64_t h = 0; h < op.heads; ++h) {
    const Head<Real> head(op, v, h);
    const std::int64_t step = 3 * head.width;
    std::vector<Real> p(static_cast<std::size_t>(head.tokens));
    std::vector<Real> dp(p.size());
    Real* const dquery = v.dx == nullptr ? nullptr : v.dx + h * head.size;
    for (std::int64_t t = 0; t < head.tokens && dquery != nullptr; ++t) {
      const auto seen = static_cast<std::size_t>(op.causal ? t + 1 : head.tokens);
      head.weights(t, std::span(p).first(seen));
      const Real* const dy = v.dy + t * head.width + h * head.size;
      Real all = 0;
      for (std::size_t s = 0; s < seen; ++s) {
        dp[s] = head.dot(dy, head.value + static_cast<std::int64_t>(s) * step);
        all += p[s] * dp[s];
      }
      for (std::size_t s = 0; s < seen; ++s) {
        const std::int64_t of_key = static_cast<std::int64_t>(s) * step;
        const Real ds = head.scale * p[s] * (dp[s] - all);
        Real* const dkey = dquery + head.width + of_key;
        Real* const dvalue = dkey + head.width;
        for (std::int64_t i = 0; i < head.size; ++i) {
          dquery[t * step + i] += ds * head.key[of_key + i];
          dkey[i] += ds * head.query[t * step + i];
          dvalue[i] += p[s] * dy[i];
        }
      }
    }
  }
}

}  // namespace reference
}  // namespace dllaunch
