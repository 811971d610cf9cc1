#pragma once

#include "trainer/graph/layers/loops.hpp"

namespace dllaunch {

/// y[t,w] = x[t,w] + weight[t,w]: a learned vector for each place in a sequence. Parameter: weight
/// [positions, width], of which the rows after the sequence's end are not used, or, if `batched`,
/// [1, positions, width].
struct PositionEmbedding {
  static constexpr std::string_view name = "position_embedding";
  static constexpr LayerTraits traits = backward_reads_nothing;

  int positions = 0;        // 0: as many as the sequence has tokens
  double deviation = 0.02;  // of the initial weights: GPT-2's
  bool batched = false;     // as torchvision's ViT stores it

  static constexpr auto keys() {
    return std::tuple(key("positions", &PositionEmbedding::positions));
  }
};

inline Inferred infer(const PositionEmbedding& op, const Shape& x) {
  if (x.size() != 2) return needs_sequence(x);
  const std::int64_t positions = op.positions == 0 ? x[0] : op.positions;
  if (x[0] > positions) return shape_error("has {} positions, got {} tokens", {positions, x[0]});
  Inferred inferred = shape_only(x);
  inferred.parameters = {{.name = "weight",
                          .shape = {positions, x[1]},
                          .fan_in = positions,
                          .fan_out = x[1],
                          .initial = Initial::normal,
                          .deviation = op.deviation}};
  Shape& shape = inferred.parameters.front().shape;
  if (op.batched) shape.insert(shape.begin(), 1);
  return inferred;
}

namespace reference {

template <typename Real>
void forward(const PositionEmbedding&, const View<Real>& v) {
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) v.y[i] = v.x[i] + v.weight[i];
}

template <typename Real>
void backward(const PositionEmbedding&, const View<Real>& v) {
  for (std::int64_t i = 0; i < elements_of(v.y_shape); ++i) {
    v.dweight[i] += v.dy[i];
    if (v.dx != nullptr) v.dx[i] += v.dy[i];
  }
}

}  // namespace reference
}  // namespace dllaunch
