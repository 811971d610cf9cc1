// The stages of a pipeline and the ranks that hold them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// What each rank of a stage holds.
struct RankStage {
  std::string first = {};  // layers
  std::string last = {};
  std::int64_t parameters = 0;
  std::int64_t held_bytes = 0;        // weights, gradients, optimiser state
  std::int64_t activation_bytes = 0;  // of each micro-batch in flight
  int in_flight = 1;
  double share = 0;  // of the work

  std::int64_t bytes() const { return held_bytes + in_flight * activation_bytes; }
};

struct PipelinePlan {
  int stages = 2;
  int ranks = 2;       // a multiple of `stages`: consecutive ranks are replicas of one stage
  bool given = false;  // the cut; else the trainer chooses by measuring
  std::optional<std::int64_t> memory_bytes = {};  // of a rank; absent: not known
  int micro_batches = 1;                          // per step
  // What read_stages() adds:
  std::vector<RankStage> holds = {};  // per stage; empty: not known
  double idle = 0;                    // part of a step that ranks wait for other stages
  std::string unknown = {};           // why
  std::string too_large = {};         // why no cut fits memory_bytes

  int replicas() const { return ranks / stages; }
};

/// nullopt: no pipeline. bad_request: the ranks are no multiple of the stages. Ranks that compute
/// on CPUs share their node's memory, or what resources.memory asks for.
Result<std::optional<PipelinePlan>> pipeline_of(const LaunchPlan& plan);

/// Adds what `dltrain --describe-stages` printed. Missing or invalid values leave `unknown` set.
void read_stages(std::string_view text, PipelinePlan& pipeline);

/// What the user should know before the run: one line each.
std::vector<std::string> warnings_of(const PipelinePlan& pipeline);

/// The table of stages and the warnings, as `plan` prints them.
std::string render_stages(const PipelinePlan& pipeline);
Json to_json(const PipelinePlan& pipeline);

}  // namespace dllaunch
