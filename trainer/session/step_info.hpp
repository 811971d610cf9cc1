// What an update has to know of its step, from where training stands.
#pragma once

#include <cstdint>

#include "trainer/checkpoints/checkpoint.hpp"
#include "trainer/config/config.hpp"
#include "trainer/data/sampler.hpp"

namespace dllaunch {

/// Of the step that begins at `at`, over `images` an epoch. The schedule goes by epochs: a run that
/// is resumed on another number of ranks, so with other steps, stays where it was. The rate before
/// is the one that was applied, which a resumed run may have changed.
StepInfo step_info(const TrainConfig& config, const StepShape& shape, std::int64_t images,
                   const TrainPosition& at);

}  // namespace dllaunch
