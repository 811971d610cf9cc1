// Which loss a training has: the user's, the model's, or what fits the targets.
#pragma once

#include <string_view>

#include "support/result.hpp"
#include "trainer/config/config.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// `models_own`: of `loss: auto`; empty: none. bad_request: a loss that cannot be compared with
/// such targets, or does not have the label smoothing that is asked for.
Result<LossChoice> choose_loss(const TrainConfig& config, std::string_view models_own,
                               TargetKind targets);

/// How good a network is told: right classes, right sets of classes, or how far values are off.
TargetKind judged_as(const LossChoice& loss, TargetKind targets);

}  // namespace dllaunch
