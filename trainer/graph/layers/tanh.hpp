#pragma once

#include <cmath>

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

struct Tanh {
  static constexpr std::string_view name = "tanh";
  static constexpr LayerTraits traits = elementwise;

  template <typename Real>
  static constexpr Real value(Real x) {
    return std::tanh(x);
  }
  template <typename Real>
  static constexpr Real gradient(Real y, Real dy) {
    return (1 - y * y) * dy;
  }
};

}  // namespace dllaunch
