// What Slurm's programs print when they do not do what they were asked: the one place that knows
// these texts. Each is of versions 17.11 to 24.05.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// sbatch or srun does not understand an option.
bool is_option_error(std::string_view message);

/// Of sbatch, where the controller said no: nothing was submitted.
bool is_refusal_of_controller(std::string_view message);

/// The controller did not answer.
bool is_silence_of_controller(std::string_view message);

/// The controller has forgotten the job, or never knew it.
bool is_unknown_job(std::string_view message);

/// Of sacct, where a cluster keeps no accounts.
bool has_no_accounting(std::string_view message);

/// Of sacct, where it keeps no command lines (before 21.08).
bool has_no_submit_lines(std::string_view message);

/// Refusals of sbatch --test-only that a real submission would not meet: Slurm (22.05) gives them
/// where the job could not start just now. `nodes_are_taken`: some are drained or reserved.
bool may_only_mean_later(std::string_view message, bool nodes_are_taken);

/// "start at 2026-11-21T11:22:45 using 2 processors on nodes n[1-2]" of sbatch --test-only; empty:
/// there is no estimate.
std::string start_estimate_in(std::string_view message);

}  // namespace dllaunch
