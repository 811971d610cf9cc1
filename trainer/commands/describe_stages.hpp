// `dltrain --describe-stages`, which `dllaunch plan` starts for a job with a pipeline or with split
// dense layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct StagesQuestion {
  std::string config;  // the text of train.json
  int ranks = 1;
  std::optional<std::int64_t> memory_bytes = {};  // of each rank; absent: not known
};

/// Parses TRAIN_JSON RANKS [MEMORY_BYTES]. bad_request names the invalid one.
Result<StagesQuestion> parse_stages_question(const std::vector<std::string>& words);

/// Returns one JSON document: "stages", a list with what each rank of a stage holds, by estimates
/// that need no device; "micro_batches" per step, and "idle", the part of a step that ranks wait.
/// "too_large" says why nothing fits the memory. If the shape of the data is not known here, the
/// document has "unknown", the reason, alone. Problems of the configuration, and a cut that is not
/// possible, are errors.
/// With split layers instead: "layers", a list of name, columns, and `of_rank`, the most of them
/// that a rank has; "held_bytes" and "activation_bytes" of a rank, and "whole_bytes", what it would
/// hold if none were split.
Result<std::string> describe_stages(const StagesQuestion& question);

}  // namespace dllaunch
