#pragma once

#include "trainer/graph/layers/layer.hpp"

namespace dllaunch {

/// Phase::train: of all elements of x, those of a random part `rate` become 0, the others are
/// divided by 1 - rate. Which ones follows from Batch::random, the node's name and the element's
/// place alone (trainer/graph/dropout.hpp). Phase::evaluate: y = x.
/// Its loops know the batch's random key: they are in reference_backend.cpp.
struct Dropout {
  static constexpr std::string_view name = "dropout";
  static constexpr LayerTraits traits{
      .rereads_input = false, .rereads_output = false, .flattening = Flattening::passed_on};

  double rate = 0.5;

  static constexpr auto keys() { return std::tuple(key("rate", &Dropout::rate)); }
};

inline Inferred infer(const Dropout& op, const Shape& x) {
  if (op.rate >= 0 && op.rate < 1) return only(x);
  return refuse("drops a part of {}, which is not from 0 to below 1", {op.rate});
}

}  // namespace dllaunch
