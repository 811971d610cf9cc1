// Asks the trainer what the ranks of a pipeline, or of split layers, would hold.
#pragma once

#include <optional>

#include "launcher/os/system.hpp"
#include "launcher/plan/pipeline/rank_stages.hpp"
#include "launcher/plan/pipeline/split_layers.hpp"

namespace dllaunch {

/// nullopt: the plan has no pipeline. Errors are pipeline_of()'s and the trainer's refusals, such
/// as a cut that is not possible. If the trainer cannot be asked, `unknown` says why.
Result<std::optional<PipelinePlan>> ask_stages(System& system, const LaunchPlan& plan);

/// nullopt: the plan splits no layers. Errors are the trainer's refusals, such as a layer that
/// there is not. If the trainer cannot be asked, `unknown` says why.
Result<std::optional<SplitPlan>> ask_split(System& system, const LaunchPlan& plan);

/// The plan, if there is one, with what the user should know of its stages and split layers among
/// its warnings.
Result<LaunchPlan> with_stage_warnings(System& system, Result<LaunchPlan> plan);

}  // namespace dllaunch
