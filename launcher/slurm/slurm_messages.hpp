// Error messages of Slurm's programs. All matching of these texts is here; each is from versions
// 17.11 to 24.05.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// Whether sbatch or srun rejected an option.
bool is_option_error(std::string_view message);

/// Whether the controller refused a submission: no job was created.
bool is_refusal_of_controller(std::string_view message);

/// Whether the controller did not answer.
bool is_silence_of_controller(std::string_view message);

/// Slurm is installed, but this machine belongs to no cluster: a DNS lookup for the controller
/// fails, or before 20.02 slurm.conf is missing.
bool is_not_configured(std::string_view message);

/// Whether the controller does not know the job (any more).
bool is_unknown_job(std::string_view message);

/// Whether sacct reports that the cluster has no accounting.
bool has_no_accounting(std::string_view message);

/// Whether sacct cannot report command lines (before 21.08).
bool has_no_submit_lines(std::string_view message);

/// Whether a refusal of sbatch --test-only may not apply to a real submission: Slurm 22.05 also
/// refuses when the job could not start right now. `nodes_are_taken`: some are drained or reserved.
bool may_only_mean_later(std::string_view message, bool nodes_are_taken);

/// "start at 2026-11-21T11:22:45 using 2 processors on nodes n[1-2]" from sbatch --test-only;
/// empty: no estimate.
std::string start_estimate_in(std::string_view message);

}  // namespace dllaunch
