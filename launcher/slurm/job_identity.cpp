#include "launcher/slurm/job_identity.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/rank_logs.hpp"

namespace dllaunch {
namespace {

using Json = nlohmann::ordered_json;

/// RUN/job.json; all empty: there is no sound one of this job.
struct JobRecord {
  std::string cluster = {};
  std::string token = {};
  std::string script = {};
  double submitted_s = 0;
};

JobRecord record_of(const RunDir& run, const std::string& id) {
  constexpr std::size_t most_bytes = 65536;
  const auto object = json_object_in(file_end(run.job_json(), most_bytes));
  const auto word = [&](const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (id.empty() || word("id") != id) return {};
  JobRecord record{
      .cluster = word("cluster"), .token = token_in(word("token")), .script = word("script")};
  const auto submitted = object.find("submitted");
  if (submitted != object.end() && submitted->is_number())
    record.submitted_s = submitted->get<double>();
  return record;
}

void keep(System& system, const RunDir& run, const Json& record) {
  const auto text = record.dump(2, ' ', false, Json::error_handler_t::replace);
  const auto written = write_file(run.job_json(), text + "\n");
  if (!written) system.log("dllaunch: " + written.error().what + "\n");
}

/// What stands before the last "|".
std::string_view without_command(std::string_view words) {
  const auto at = words.rfind('|');
  return words.substr(0, at == std::string_view::npos ? 0 : at);
}

}  // namespace

JobIdentity identity_of(const LaunchPlan& plan, const RunDir& run, const std::string& id) {
  auto record = record_of(run, id);
  JobIdentity identity{.id = id,
                       .name = plan.name,
                       .script = std::move(record.script),
                       .token = std::move(record.token),
                       .submitted_s = record.submitted_s};
  const auto script = run.sbatch_script();
  if (access(script.c_str(), F_OK) == 0) identity.script = script;
  for (const auto& [option, value] : plan.sbatch) {
    if (option == "--job-name") identity.name = value;
  }
  return identity;
}

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

const std::string& OwnCluster::name() {
  constexpr std::chrono::seconds limit(20);
  if (name_) return *name_;
  name_ = system_.environment("SLURM_CLUSTER_NAME").value_or("");
  if (!name_->empty()) return *name_;
  const auto shown = system_.run({"scontrol", "show", "config"}, limit);
  if (shown && shown->exit_code == 0) name_ = parse_slurm_config(shown->out).cluster;
  return *name_;
}

void remember_job(System& system, const RunDir& run, const std::string& id,
                  const std::string& token) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  keep(system, run,
       {{"id", id},
        {"cluster", OwnCluster(system).name()},
        {"token", token},
        {"submitted", std::chrono::duration<double>(now).count()}});
}

void remember_own_script(System& system, const RunDir& run, const SlurmJob& job) {
  const auto script = job.origin.words.substr(without_command(job.origin.words).size());
  const auto submitted = parse_slurm_time(job.submit);
  if (access(run.sbatch_script().c_str(), F_OK) == 0 || script.size() < 2 || !submitted) return;
  keep(system, run,
       {{"id", job.id},
        {"cluster", OwnCluster(system).name()},
        {"script", script.substr(1)},
        {"submitted", *submitted}});
}

Result<Ok> check_cluster(const RunDir& run, const std::string& id, OwnCluster& here) {
  const auto theirs = record_of(run, id).cluster;
  if (theirs.empty()) return Ok{};
  if (here.name().empty() || here.name() == theirs) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("job {} of {} was submitted on cluster {}, this is cluster {}", id,
                           run.path, theirs, here.name()),
               fmt::format("log in to {} and repeat it there", theirs)};
}

Result<Ok> check_cluster(System& system, const RunDir& run, const std::string& id) {
  OwnCluster here(system);
  return check_cluster(run, id, here);
}

}  // namespace dllaunch
