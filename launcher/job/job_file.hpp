// Parses the text of a job file into a Job, or into every problem in it.
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
  std::optional<Job> job;            // nullopt if there is a problem
  std::vector<Diagnostic> problems;  // in file order
  bool unknown_keys = false;         // whether any problem is a key that job files do not have
  std::vector<Diagnostic> notes;     // what was read differently from how it is written
};

/// The name of a job whose file does not say it: "train" of "src/train.py"; "job" of nothing.
std::string stem_of(const std::string& path);

/// Pure. `sets`: the KEY.PATH=VALUE of --set, with VALUE in YAML; they override the file. Checks
/// YAML syntax, duplicate and unknown keys, types, ranges, words, and that exactly one of `train:`
/// and `run:` is given, in each component of a modular job; checks the `train:` block against the
/// trainer's schema.
ParsedJob parse_job(std::string_view text, const std::string& file,
                    std::span<const std::string> sets);

/// The document of RUN/job.yaml, which parse_job() reads back to the same job.
Json stored_json(const Job& job);

}  // namespace dllaunch
