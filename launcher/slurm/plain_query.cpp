#include "launcher/slurm/plain_query.hpp"

#include <string_view>

namespace dllaunch {

std::vector<std::string> plain_query(System& system, const std::vector<std::string>& argv) {
  // From the manuals of sacct, scontrol, sinfo and squeue.
  constexpr std::string_view settings[] = {
      "SACCT_FEDERATION", "SACCT_LOCAL",       "SCONTROL_ALL",      "SCONTROL_FEDERATION",
      "SCONTROL_FUTURE",  "SCONTROL_LOCAL",    "SCONTROL_SIBLING",  "SINFO_FEDERATION",
      "SINFO_FORMAT",     "SINFO_LOCAL",       "SINFO_PARTITION",   "SINFO_SORT",
      "SLURM_BITSTR_LEN", "SLURM_TIME_FORMAT", "SLURM_TOPO_LEN",    "SQUEUE_ACCOUNT",
      "SQUEUE_ALL",       "SQUEUE_ARRAY",      "SQUEUE_FEDERATION", "SQUEUE_FORMAT",
      "SQUEUE_FORMAT2",   "SQUEUE_LICENSES",   "SQUEUE_LOCAL",      "SQUEUE_NAMES",
      "SQUEUE_PARTITION", "SQUEUE_PRIORITY",   "SQUEUE_QOS",        "SQUEUE_SIBLING",
      "SQUEUE_SORT",      "SQUEUE_STATES",     "SQUEUE_USERS"};
  std::vector<std::string> plain = {"env"};
  for (const auto name : settings)
    if (system.environment(name)) plain.insert(plain.end(), {"-u", std::string(name)});
  if (plain.size() == 1) return argv;
  plain.insert(plain.end(), argv.begin(), argv.end());
  return plain;
}

}  // namespace dllaunch
