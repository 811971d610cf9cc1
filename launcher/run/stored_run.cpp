#include "launcher/run/stored_run.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <limits>

#include "launcher/os/stored_json.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

using Json = nlohmann::ordered_json;

double changed_at_s(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return 0;
  return static_cast<double>(info.st_mtim.tv_sec) +
         1e-9 * static_cast<double>(info.st_mtim.tv_nsec);
}

double began_at_s(const RunDir& dir, Launcher launcher) {
  return changed_at_s(launcher == Launcher::local ? dir.plan_json() : dir.job_id());
}

/// Null where there is none, or it is damaged.
Result<Json> read_json(System& system, const std::string& path) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  auto text = read_run_file(system, path, most_bytes);
  if (!text) return std::move(text).error();
  return text->empty() ? Json() : json_object_in(*text);
}

std::string word(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

int count(const Json& object, const char* key) {
  const auto found = object.find(key);
  const bool good = found != object.end() && found->is_number_integer();
  const auto number = good ? found->get<std::int64_t>() : 1;
  return number > 0 && number < 100'000'000 ? static_cast<int>(number) : 1;
}

/// "B:USR2@120"
void read_signal(std::string text, LaunchPlan& plan) {
  const auto colon = text.rfind(':');
  if (colon != std::string::npos) text.erase(0, colon + 1);
  const auto at = text.find('@');
  plan.signal = text.substr(0, at);
  if (at == std::string::npos) return;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), plan.grace_seconds);
}

/// As an older version, which had none, would have ended: left to Slurm.
RecoveryPlan read_recovery(const Json& document) {
  RecoveryPlan recovery;
  const auto block = document.find("recovery");
  if (block == document.end() || !block->is_object()) return recovery;
  const auto take = [&](const char* key, std::int64_t most, int& number) {
    const auto found = block->find(key);
    if (found != block->end() && found->is_number_integer())
      number = static_cast<int>(std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, most));
  };
  take("max_restarts", 1000, recovery.max_restarts);
  take("spare_nodes", 100, recovery.spare_nodes);
  const auto causes = block->find("requeue_on");
  if (causes != block->end() && causes->is_array()) {
    const auto has = [&](const char* word) {
      return std::find(causes->begin(), causes->end(), word) != causes->end();
    };
    recovery.requeue_on = {has("timeout"), has("preempted"), has("node_fail")};
  }
  if (const auto when = block->find("preflight"); when != block->end() && when->is_string())
    recovery.preflight = preflight_when(when->get<std::string>());
  const auto limit = block->find("stall_abort_seconds");
  if (limit != block->end() && limit->is_number())
    recovery.stall_abort_seconds = std::max(0.0, limit->get<double>());
  return recovery;
}

LaunchPlan read_plan(const Json& document, const RunDir& dir) {
  LaunchPlan plan;
  plan.name = word(document, "name");
  plan.launcher = word(document, "launcher") == "slurm" ? Launcher::slurm : Launcher::local;
  plan.nodes = count(document, "nodes");
  plan.ranks_per_node = count(document, "ranks_per_node");
  plan.paths.run_dir = dir.path;
  plan.signal = "USR2";
  plan.asks_ranks = document.value("asks_ranks", Json(true)) != Json(false);
  plan.recovery = read_recovery(document);
  const auto options = document.find("sbatch");
  if (options == document.end() || !options->is_object()) return plan;
  for (const auto& [option, value] : options->items()) {
    if (!value.is_string()) continue;
    plan.sbatch.emplace_back(option, value.get<std::string>());
    if (option == "--signal") read_signal(value, plan);
    if (option == "--array") plan.array = value.get<std::string>();
  }
  return plan;
}

}  // namespace

Result<StoredRun> read_stored_run(System& system, const std::string& path) {
  StoredRun run{.dir = {.path = path, .resumed = true}, .plan = {}, .summary = {}};
  const auto document = read_json(system, run.dir.plan_json());
  if (!document) return document.error();
  if (document->is_null())
    return Error{ErrorKind::bad_request, fmt::format("{} holds no run: no plan.json in it", path),
                 "dllaunch ps lists the runs"};
  run.plan = read_plan(*document, run.dir);
  const auto train = read_json(system, run.dir.train_json());
  if (!train) return train.error();
  run.trains = !train->is_null();
  if (const auto epochs = train->find("epochs");
      epochs != train->end() && epochs->is_number_integer())
    run.epochs = epochs->get<std::int64_t>();
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

double seconds_since_began(const RunDir& dir, Launcher launcher) {
  const double began = began_at_s(dir, launcher);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return began > 0 ? std::max(0.0, std::chrono::duration<double>(now).count() - began)
                   : std::numeric_limits<double>::infinity();
}

std::string stored_status(const StoredRun& run) {
  return run.summary.is_null() ? std::string() : word(run.summary, "status");
}

}  // namespace dllaunch
