// Slurm's pending reasons as sentences.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// "Priority" -> "jobs with higher priority are ahead (Priority)". Returns an unknown reason
/// unchanged.
std::string explain_reason(const std::string& reason);

/// The same, with the start that Slurm expects (squeue's %S; empty: none).
std::string explain_waiting(const std::string& reason, const std::string& start);

/// Whether Slurm's expected start says something. It sets that of a job behind nodes or
/// reservations without an end to years from now.
bool is_useful_start(std::string_view time, double now_s);

}  // namespace dllaunch
