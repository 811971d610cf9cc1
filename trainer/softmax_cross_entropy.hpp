// The loss of a classifier, in double whatever the backend computes in.
#pragma once

#include <cstdint>
#include <span>

#include "trainer/backend.hpp"

namespace dllaunch {

/// logits [count, classes], labels [count] in 0 .. classes-1, gradient [count, classes].
/// loss_sum = sum over rows of -log softmax(logits)[label]; gradient = d(loss_sum)/d(logits), that
/// is softmax(logits) - onehot(label). Rows are summed in order. The first of equal largest logits
/// is the answer; a row that holds a NaN has none and makes the loss NaN.
ForwardResult softmax_cross_entropy(std::span<const double> logits,
                                    std::span<const std::int32_t> labels,
                                    std::span<double> gradient);

}  // namespace dllaunch
