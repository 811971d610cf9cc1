// The optimiser's view of a step, computed from the position in the run.
#pragma once

#include <cstdint>

#include "trainer/checkpoints/checkpoint.hpp"
#include "trainer/config/config.hpp"
#include "trainer/data/sampler.hpp"

namespace dllaunch {

/// Returns the StepInfo of the step that starts at `at`, with `images` per epoch. The schedule is a
/// function of epochs, so a run resumed with another number of ranks, and thus other steps, keeps
/// its place in it. The previous rate is the one applied, which a resumed run may have changed.
StepInfo step_info(const TrainConfig& config, const StepShape& shape, std::int64_t images,
                   const TrainPosition& at);

}  // namespace dllaunch
