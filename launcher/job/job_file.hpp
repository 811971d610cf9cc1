// From the text of a job file to a Job, or to every problem in it at once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/config/diagnostics.hpp"
#include "launcher/job/job.hpp"

namespace dllaunch {

struct ParsedJob {
  std::optional<Job> job;            // absent when there is a problem
  std::vector<Diagnostic> problems;  // in file order
};

/// Pure. `sets` are the KEY.PATH=VALUE of --set, VALUE in YAML; they replace what the file says.
/// Checked: YAML syntax, duplicate and unknown keys, types, ranges, words, exactly one of `train:`
/// and `run:`; the `train:` block against the trainer's own schema.
ParsedJob parse_job(std::string_view text, const std::string& file,
                    std::span<const std::string> sets);

}  // namespace dllaunch
