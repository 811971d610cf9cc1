// Where a run comes from: what was true when it was submitted, or started here. A value, and its
// text in RUN/provenance.json. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/provenance/code_state.hpp"
#include "launcher/provenance/python_state.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// One submission or local start. What is of a machine is of that which submitted.
struct SubmissionRecord {
  double time_s = 0;                                  // Unix seconds
  std::string host = {};                              // the machine that submitted
  std::string dllaunch = {};                          // its version
  std::string job_file = {};                          // absolute
  std::vector<std::string> sets = {};                 // --set, without secrets
  std::optional<CodeState> code = {};                 // nullopt: no git, or no repository
  std::map<std::string, std::string> variables = {};  // without secrets
  std::vector<std::string> left_out = {};             // names of variables that look like secrets
  std::map<std::string, std::string> versions = {};   // "NCCL" -> "2.21.5"
  std::optional<PythonState> python = {};             // nullopt: the job has none
  std::map<std::string, std::string> seeds = {};      // "train.seed" -> "7"
};

struct Provenance {
  std::vector<SubmissionRecord> submissions = {};  // the newest last
  std::int64_t earlier = 0;                        // that are no longer kept

  static constexpr std::size_t most_submissions = 20;
};

/// Adds it as the newest, and forgets the oldest beyond most_submissions.
Provenance with_submission(Provenance all, SubmissionRecord newest);

std::string provenance_text(const Provenance& all);

/// bad_request: the text is damaged: no JSON object, or one without a list of submissions. Single
/// values that do not fit are skipped.
Result<Provenance> provenance_in(std::string_view text);

}  // namespace dllaunch
