// How the numbers of each parameter are spread, for TensorBoard.
#pragma once

#include <vector>

#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/reports/tensorboard.hpp"

namespace dllaunch {

/// "weights/conv1.weight" of every parameter, and "gradients/conv1.weight" of the latest step: of
/// the mean loss over its images. Of an optimiser that turns gradients into directions these, as
/// "directions/conv1.weight". Weights only where no step was made (`stepped`), and of a sharded
/// optimiser, as no rank has all gradients.
std::vector<Histogram> parameter_histograms(const Executable& executable,
                                            const ParameterArenas& arenas, bool stepped);

}  // namespace dllaunch
