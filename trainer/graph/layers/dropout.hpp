#pragma once

#include "trainer/graph/layers/layer.hpp"

namespace dllaunch {

/// Phase::train: each element of x becomes 0 with probability `rate`, else it is divided by 1 -
/// rate (inverted dropout, as PyTorch's). The mask depends only on Batch::random, the node's name
/// and the element's index (trainer/graph/dropout.hpp). Phase::evaluate: y = x. Its loops need the
/// batch's key: reference_backend.cpp.
struct Dropout {
  static constexpr std::string_view name = "dropout";
  static constexpr LayerTraits traits{
      .backward_reads_x = false, .backward_reads_y = false, .flattening = Flattening::passed_on};

  double rate = 0.5;

  static constexpr auto keys() { return std::tuple(key("rate", &Dropout::rate)); }
};

inline Inferred infer(const Dropout& op, const Shape& x) {
  if (op.rate >= 0 && op.rate < 1) return shape_only(x);
  return shape_error("has a dropout rate of {}, which is not in [0, 1)", {op.rate});
}

}  // namespace dllaunch
