// How the numbers of each parameter are spread, for TensorBoard.
#pragma once

#include <vector>

#include "trainer/parameter_arenas.hpp"
#include "trainer/tensorboard.hpp"

namespace dllaunch {

/// "weights/conv1.weight" of every parameter, and "gradients/conv1.weight" of the latest step: of
/// the mean loss over its images. A sharded optimiser has the weights only, as no rank has all
/// gradients.
std::vector<Histogram> parameter_histograms(const Executable& executable,
                                            const ParameterArenas& arenas);

}  // namespace dllaunch
