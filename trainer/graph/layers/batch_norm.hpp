#pragma once

#include "trainer/graph/layers/layer.hpp"

namespace dllaunch {

/// Per channel, over all present images of the batch and all pixels (Ioffe and Szegedy 2015):
/// y = (x - mean) / sqrt(var + eps) * weight + bias.
/// Phase::train uses the batch's mean and (biased) var, and updates the running statistics as
/// PyTorch does: running = (1 - momentum) * running + momentum * batch, with the unbiased var (for
/// a single value, the biased one). Phase::evaluate uses the running statistics. Parameters: weight
/// [channels], bias [channels]. Buffers: running_mean [channels], running_var [channels],
/// num_batches_tracked []. Its loops are over all images: backends/reference/batch_norm.hpp.
struct BatchNorm {
  static constexpr std::string_view name = "batch_norm";
  static constexpr LayerTraits traits{.backward_reads_y = false};

  double eps = 1e-5;
  double momentum = 0.1;  // PyTorch's convention: Keras's 0.99 is 0.01 here
  Initial weight = Initial::ones;

  static constexpr auto keys() {
    return std::tuple(key("eps", &BatchNorm::eps), key("momentum", &BatchNorm::momentum));
  }
};

inline Inferred infer(const BatchNorm& op, const Shape& x) {
  if (x.size() == 2 || x.size() > 4) return needs_image(x);
  if (!(op.eps > 0) || !(op.momentum > 0) || op.momentum > 1) {
    return shape_error("cannot normalise with eps {}, momentum {}", {op.eps, op.momentum});
  }
  const Shape channels = {x[0]};
  Inferred inferred = shape_only(x);
  inferred.parameters = {{"weight", channels, x[0], x[0], op.weight},
                         {"bias", channels, x[0], x[0], Initial::zeros}};
  inferred.buffers = {{"running_mean", channels, DType::f32, 0},
                      {"running_var", channels, DType::f32, 1},
                      {"num_batches_tracked", {}, DType::i64, 0}};
  return inferred;
}

}  // namespace dllaunch
