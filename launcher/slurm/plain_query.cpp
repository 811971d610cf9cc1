#include "launcher/slurm/plain_query.hpp"

#include <string_view>

#include "launcher/slurm/input_variables.hpp"

namespace dllaunch {

std::vector<std::string> plain_query(System& system, const std::vector<std::string>& argv) {
  // From the manuals of sacct, scancel, scontrol, sinfo and squeue.
  constexpr std::string_view settings[] = {
      "SACCT_FEDERATION",    "SACCT_LOCAL",         "SCANCEL_ACCOUNT",   "SCANCEL_BATCH",
      "SCANCEL_CRON",        "SCANCEL_CTLD",        "SCANCEL_FULL",      "SCANCEL_HURRY",
      "SCANCEL_INTERACTIVE", "SCANCEL_NAME",        "SCANCEL_PARTITION", "SCANCEL_QOS",
      "SCANCEL_STATE",       "SCANCEL_USER",        "SCANCEL_VERBOSE",   "SCANCEL_WCKEY",
      "SCONTROL_ALL",        "SCONTROL_FEDERATION", "SCONTROL_FUTURE",   "SCONTROL_LOCAL",
      "SCONTROL_SIBLING",    "SINFO_FEDERATION",    "SINFO_FORMAT",      "SINFO_LOCAL",
      "SINFO_PARTITION",     "SINFO_SORT",          "SLURM_BITSTR_LEN",  "SLURM_TIME_FORMAT",
      "SLURM_TOPO_LEN",      "SQUEUE_ACCOUNT",      "SQUEUE_ALL",        "SQUEUE_ARRAY",
      "SQUEUE_FEDERATION",   "SQUEUE_FORMAT",       "SQUEUE_FORMAT2",    "SQUEUE_LICENSES",
      "SQUEUE_LOCAL",        "SQUEUE_NAMES",        "SQUEUE_PARTITION",  "SQUEUE_PRIORITY",
      "SQUEUE_QOS",          "SQUEUE_SIBLING",      "SQUEUE_SORT",       "SQUEUE_STATES",
      "SQUEUE_USERS"};
  std::vector<std::string> plain = {"env"};
  const auto remove = [&](std::string_view name) {
    if (system.environment(name)) plain.insert(plain.end(), {"-u", std::string(name)});
  };
  for (const auto name : settings) remove(name);
  if (argv.front() == "srun")
    for (const auto name : variables_of(SlurmProgram::srun)) remove(name);
  if (plain.size() == 1) return argv;
  plain.insert(plain.end(), argv.begin(), argv.end());
  return plain;
}

}  // namespace dllaunch
