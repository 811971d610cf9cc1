// What a run says of itself before its first step.
#pragma once

#include "trainer/session/session.hpp"
#include "trainer/training/reports.hpp"
#include "trainer/training/train.hpp"

namespace dllaunch {

/// On rank 0: the start event, and a line each for the model, its initial weights and the
/// checkpoint that it resumes from.
void announce(const TrainOptions& options, const Session& session, Reports& reports);

}  // namespace dllaunch
