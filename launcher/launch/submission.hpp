// A job that is submitted once, whatever sbatch says of it: the job carries a token in its comment,
// and is looked for where sbatch did not say that it was taken (decision 0016).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// A submission that was meant, on the disk before sbatch runs.
struct SubmissionIntent {
  std::string token = {};
  std::string script = {};  // RUN/job.sbatch
  std::string judged = {};  // the number of the run's job before it; empty: there was none
  double intended_s = 0;    // Unix seconds
};

/// "dllaunch:" and 16 random hexadecimal digits.
std::string new_token();

/// "--comment=...": the token behind the user's own comment.
std::string comment_option(const std::string& comment, const std::string& token);

/// The value of an option among a script's, "" where it is not; the last one counts.
std::string option_value(const std::vector<std::string>& options, std::string_view name);

/// The number in front of the first line of squeue's or sacct's that has the token.
std::optional<std::string> job_with_token(std::string_view text, const std::string& token);

/// The job that carries the token, in the queue or over; where a site takes comments away a newer
/// one of the script. Nothing: Slurm knows none. unavailable, timeout: it does not answer.
Result<std::optional<std::string>> find_submitted(System& system, const SubmissionIntent& intent);

/// Of a submission by `dllaunch run`. A refusal that is none, a wrapper that fails after it
/// submitted or a dllaunch that is killed in between leaves the intent, and the next start looks
/// first.
Result<Ok> keep_intent(const RunDir& run, const SubmissionIntent& intent);
void forget_intent(const RunDir& run);
/// Nothing: none is open.
std::optional<SubmissionIntent> open_intent(System& system, const RunDir& run);

/// What became of an open intent: the job, or nothing where Slurm says twice, `settle` apart, that
/// it knows none. unavailable, timeout: it does not answer, and nothing is concluded.
Result<std::optional<std::string>> settle_intent(System& system, const SubmissionIntent& intent,
                                                 std::chrono::milliseconds settle);

}  // namespace dllaunch
