// From the text of a job file to a Job, or to every problem in it at once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/job/job.hpp"

namespace dllaunch {

struct Diagnostic {
  std::string file;     // as the user named it; "--set" for an override
  int line = 0;         // 1-based
  int column = 0;       // 1-based
  std::string message;  // "unknown key 'nodez'; did you mean 'nodes'?"
  std::string source;   // the offending line, without its newline
};

/// "FILE:LINE:COLUMN: error: MESSAGE", the line, a caret under the column; one after the other.
std::string render(std::span<const Diagnostic> problems, bool color);

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
