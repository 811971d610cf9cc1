#include "launcher/run/stored_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// Returns null if the file is missing or damaged.
Result<Json> read_json(System& system, const std::string& path) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  auto text = read_run_file(system, path, most_bytes);
  if (!text) return std::move(text).error();
  return text->empty() ? Json() : json_object_in(*text);
}

}  // namespace

double began_at_s(const RunDir& dir, Launcher launcher) {
  return changed_at_s(launcher == Launcher::local ? dir.plan_json() : dir.job_id());
}

Result<StoredRun> read_stored_run(System& system, const std::string& path) {
  StoredRun run{.dir = {.path = path, .resumed = true}, .plan = {}, .summary = {}};
  const auto document = read_json(system, run.dir.plan_json());
  if (!document) return document.error();
  if (document->is_null())
    return Error{ErrorKind::bad_request, fmt::format("{} holds no run: no plan.json in it", path),
                 "`dllaunch ps` lists the runs"};
  run.plan = outline_from_json(*document);
  run.plan.paths.run_dir = run.dir.path;
  const auto train = read_json(system, run.dir.train_json());
  if (!train) return train.error();
  run.trains = !train->is_null();
  run.epochs = value_at<std::optional<std::int64_t>>(*train, "epochs");
  run.max_steps = value_at<std::optional<std::int64_t>>(*train, "max_steps");
  constexpr std::size_t longest_id = 4096;
  const auto id = read_run_file(system, run.dir.job_id(), longest_id);
  if (!id) return id.error();
  run.job_id = job_id_in(*id).value_or("");
  run.began_at_s = began_at_s(run.dir, run.plan.launcher);
  auto summary = read_json(system, run.dir.summary());
  if (!summary) return std::move(summary).error();
  run.summary = *std::move(summary);
  return run;
}

std::string submission_name(const RunOutline& plan, const std::string& job_id, const RunDir& dir) {
  if (plan.launcher == Launcher::slurm) return job_id.empty() ? "" : "job " + job_id;
  const double began = began_at_s(dir, plan.launcher);
  return began > 0 ? fmt::format("local {:.6f}", began) : "";
}

double seconds_since_began(const RunDir& dir, Launcher launcher) {
  const double began = began_at_s(dir, launcher);
  return began > 0 ? std::max(0.0, unix_seconds() - began)
                   : std::numeric_limits<double>::infinity();
}

std::string stored_status(const StoredRun& run) {
  return value_at<std::string>(run.summary, "status");
}

}  // namespace dllaunch
