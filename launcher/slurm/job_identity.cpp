#include "launcher/slurm/job_identity.hpp"

#include <string_view>

#include "launcher/slurm/client.hpp"

namespace dllaunch {
namespace {

/// The text before the last "|".
std::string_view without_command(std::string_view words) {
  const auto at = words.rfind('|');
  return words.substr(0, at == std::string_view::npos ? 0 : at);
}

}  // namespace

bool is_same_job(const JobIdentity& ours, const JobOrigin& origin) {
  if (!ours.token.empty() && !origin.token.empty()) return ours.token == origin.token;
  const std::string_view words = origin.words;
  if (words.empty()) return true;
  if (!ours.script.empty() && words.ends_with("|" + ours.script)) return true;
  const bool named = without_command(words).ends_with("|" + ours.name);
  if (words.ends_with('|') || ours.script.empty()) return named;
  return named && ours.submitted_s == 0 && !words.ends_with("/job.sbatch");
}

bool is_same_job(const JobIdentity& ours, const SlurmJob& job) {
  const bool told = !ours.token.empty() && !job.origin.token.empty();
  constexpr double clocks_differ_s = 86400;
  const auto submitted = parse_slurm_time(job.submit);
  const bool earlier = !told && ours.submitted_s > 0 && submitted &&
                       static_cast<double>(*submitted) < ours.submitted_s - clocks_differ_s;
  return !earlier && is_same_job(ours, job.origin);
}

std::string script_of(const JobOrigin& origin) {
  const auto at = origin.words.rfind('|');
  return at == std::string::npos ? "" : origin.words.substr(at + 1);
}

const std::string& OwnCluster::name() {
  if (name_) return *name_;
  name_ = system_.environment("SLURM_CLUSTER_NAME").value_or("");
  if (!name_->empty()) return *name_;
  if (const auto config = cluster_config(system_)) name_ = config->cluster;
  return *name_;
}

}  // namespace dllaunch
