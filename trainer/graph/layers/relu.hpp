#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

struct Relu {
  static constexpr std::string_view name = "relu";
  static constexpr LayerTraits traits = elementwise;

  // Comparisons with NaN are false; these expressions keep NaN.
  template <typename Real>
  static constexpr Real value(Real x) {
    return x < 0 ? 0 : x;
  }
  template <typename Real>
  static constexpr Real gradient(Real y, Real dy) {
    return y <= 0 ? 0 : dy;
  }
};

}  // namespace dllaunch
