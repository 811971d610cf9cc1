// The table of losses. To add one, include its file and list it here.
#pragma once

#include "support/type_list.hpp"
#include "trainer/losses/mean_squared_error.hpp"
#include "trainer/losses/sigmoid_cross_entropy.hpp"
#include "trainer/losses/softmax_cross_entropy.hpp"

namespace dllaunch {

using Losses = TypeList<SoftmaxCrossEntropy, SigmoidCrossEntropy, MeanSquaredError>;

}  // namespace dllaunch
