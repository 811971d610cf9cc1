#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// The first node of a graph. The executable writes its output, and nothing reads its gradient.
struct Input {
  static constexpr LayerTraits traits = backward_reads_nothing;
};

inline Inferred infer(const Input&, const Shape&) {
  return shape_error("is an input in the middle of the graph");
}

namespace reference {

template <typename Real>
void forward(const Input&, const View<Real>&) {}

template <typename Real>
void backward(const Input&, const View<Real>&) {}

}  // namespace reference
}  // namespace dllaunch
