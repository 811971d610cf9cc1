// Histograms of weights and gradients, for TensorBoard.
#pragma once

#include <vector>

#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/reports/tensorboard.hpp"

namespace dllaunch {

/// Returns "weights/conv1.weight" of every parameter and "gradients/conv1.weight" of the latest
/// step, for the mean loss over its images. If the optimiser overwrites gradients by directions,
/// these are "directions/conv1.weight". Weights only if no step was made (`stepped`) or the
/// optimiser is sharded, since then no rank has all gradients. Of split parameters, this rank's
/// rows.
std::vector<Histogram> parameter_histograms(const Executable& executable,
                                            const ParameterArenas& arenas, bool stepped);

}  // namespace dllaunch
