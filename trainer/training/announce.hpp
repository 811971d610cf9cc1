// Reports about a run before its first step.
#pragma once

#include <string_view>

#include "trainer/session/session.hpp"
#include "trainer/training/reports.hpp"
#include "trainer/training/train.hpp"

namespace dllaunch {

/// On rank 0: writes the start event and one log line each for the model, its initial weights and
/// the checkpoint to resume from. `communicator`: its name.
void announce(const TrainOptions& options, const Session& session, std::string_view communicator,
              Reports& reports);

}  // namespace dllaunch
