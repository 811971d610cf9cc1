// Submits a job exactly once, whatever sbatch reports: the job carries a token in its comment, and
// is searched for if sbatch did not report success (decision 0016).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/client.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// An intended submission, on disk before sbatch runs.
struct SubmissionIntent {
  std::string token = {};
  std::string script = {};  // RUN/job.sbatch
  std::string judged = {};  // id of the run's previous job; empty: none
  double intended_s = 0;    // Unix seconds
};

/// Returns "dllaunch:" and 16 random hexadecimal digits.
std::string new_token();

/// Returns "--comment=...": the token appended to the user's comment.
std::string comment_option(const std::string& comment, const std::string& token);

/// Returns an option's value among a script's options, "" if absent; the last one counts.
std::string option_value(const std::vector<std::string>& options, std::string_view name);

/// Returns the id of the first job whose words contain the token.
std::optional<std::string> job_with_token(const std::vector<JobWords>& jobs,
                                          const std::string& token);

/// Returns the job with the token, queued or ended; if the site removes comments, a newer job of
/// the script. nullopt: Slurm knows none. unavailable, timeout: it does not respond.
Result<std::optional<std::string>> find_submitted(System& system, const SubmissionIntent& intent);

/// Stores the intent of `dllaunch run`. It survives a wrapper that fails after submitting and a
/// killed dllaunch; the next start resolves it.
Result<Ok> keep_intent(const RunDir& run, const SubmissionIntent& intent);
void forget_intent(const RunDir& run);
/// Returns nullopt if none is open.
std::optional<SubmissionIntent> open_intent(System& system, const RunDir& run);

/// Resolves an open intent: returns the job, or nullopt if Slurm reports twice, `settle` apart,
/// that it knows none. unavailable, timeout: it does not respond; no conclusion.
Result<std::optional<std::string>> settle_intent(System& system, const SubmissionIntent& intent,
                                                 std::chrono::milliseconds settle);

}  // namespace dllaunch
