// Selects the loss: the user's, the model's, or one that fits the targets.
#pragma once

#include <string_view>

#include "support/result.hpp"
#include "trainer/config/config.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// `models_own` is the model's loss for `loss: auto`; empty: none. bad_request: the loss does not
/// fit the targets, or does not support the given label smoothing.
Result<LossChoice> choose_loss(const TrainConfig& config, std::string_view models_own,
                               TargetKind targets);

/// Returns the kind of metrics for a loss: classes, sets of classes, or regression errors.
TargetKind judged_as(const LossChoice& loss, TargetKind targets);

}  // namespace dllaunch
