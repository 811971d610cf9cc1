#include "launcher/compare/read_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "launcher/base/secrets.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/run_report.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/provenance/record_provenance.hpp"
#include "launcher/report/run_series.hpp"
#include "launcher/report/stored_placement.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/run_size.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/study/study.hpp"
#include "launcher/study/study_value.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_bytes = std::size_t{16} << 20;

std::string hardware_of(const Topology& node) {
  std::map<std::string, std::int64_t> gpus;
  for (const Gpu& gpu : node.gpus) ++gpus[gpu.name.empty() ? gpu.vendor + " GPU" : gpu.name];
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [name, count] : gpus) add(fmt::format("{} x {}", count, name));
  if (!node.cores.empty()) add(counted(std::ssize(node.cores), "core"));
  if (!node.numa.empty()) add(counted(std::ssize(node.numa), "NUMA node"));
  return text;
}

std::vector<ComparedEpoch> epochs_of(const RunSeries& series) {
  const double began_s = series.starts.empty() ? 0 : series.starts.front().from_s;
  std::vector<ComparedEpoch> epochs;
  for (const EpochEvent& one : series.epochs) {
    epochs.push_back({.epoch = one.epoch,
                      .wall_s = std::max(0.0, one.time - began_s),
                      .loss = one.loss,
                      .accuracy = one.accuracy,
                      .val_loss = one.val_loss,
                      .val_accuracy = one.val_accuracy,
                      .images_per_s = one.images_per_s});
  }
  return epochs;
}

void read_job(System& system, const StoredRun& stored, ComparedRun& run) {
  const auto text = read_run_file(system, stored.dir.job_yaml(), most_bytes);
  auto parsed = parse_job(text ? *text : "", stored.dir.job_yaml(), {});
  if (!parsed.job) {
    const auto why = parsed.problems.empty() ? "" : ": " + parsed.problems.front().message;
    run.notes.push_back(without_secrets("its job file cannot be read" + why));
    return;
  }
  if (!run.value && parsed.job->study.value) {
    StudyRun measured;
    measure(system, stored.dir.path, *parsed.job, measured);
    run.value = measured.value;
    run.unit = parsed.job->study.unit;
  }
  run.job = std::move(parsed.job->resolved);
}

void read_origin(System& system, const StoredRun& stored, ComparedRun& run) {
  auto origin = read_provenance(system, stored.dir);
  if (!origin) {
    run.notes.push_back(origin.error().what);
  } else if (origin->submissions.empty()) {
    run.notes.emplace_back("it has no provenance.json: its code and environment are not known");
  } else {
    run.origin = std::move(origin->submissions.back());
  }
  auto diff = read_run_file(system, stored.dir.path + "/code.diff", most_bytes);
  if (diff && !diff->empty()) run.code_diff = *std::move(diff);
}

Result<ComparedRun> read_run(System& system, const std::string& path) {
  const auto stored = read_stored_run(system, path);
  if (!stored) return stored.error();
  const Json& summary = stored->summary;
  const auto status = stored_status(*stored);
  const auto sizes = sizes_in(read_journal(stored->dir), stored->plan, stored->job_id);
  ComparedRun run{.label = fs::path(path).filename().string(),
                  .path = path,
                  .state = status.empty() ? "not ended" : status,
                  .ranks = ranks_now(stored->plan, sizes),
                  .nodes = sizes.empty() ? stored->plan.nodes : sizes.back(),
                  .hosts = places_of(*stored).nodes,
                  .value = value_at<std::optional<double>>(summary, "images_per_s"),
                  .unit = "images/s",
                  .goodput = value_at<std::optional<double>>(summary, "goodput"),
                  .restarts = value_at<std::optional<std::int64_t>>(summary, "restarts"),
                  .seconds = value_at<std::optional<double>>(summary, "seconds"),
                  .summary = summary,
                  .epochs = epochs_of(read_series(stored->dir.events()))};
  if (const auto plan = read_run_file(system, stored->dir.plan_json(), most_bytes))
    run.hardware = hardware_of(stored_placement(json_object_in(*plan)).topology);
  read_job(system, *stored, run);
  read_origin(system, *stored, run);
  return run;
}

/// The record of an experiment; null: the folder holds none.
Result<Json> read_record(System& system, const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return Json();
  const auto text = read_run_file(system, path, most_bytes);
  if (!text) return text.error();
  auto document = json_object_in(*text);
  if (document.is_null())
    return Error{ErrorKind::bad_request, path + " is damaged", "name its runs instead"};
  return document;
}

/// A run of an experiment, which then stands for it.
Result<ComparedRun> read_speaker(System& system, const std::string& dir, const std::string& name) {
  auto run = read_run(system, (fs::path(dir) / name).lexically_normal().string());
  if (!run) return run;
  run->run = std::exchange(run->path, dir);
  run->label = fs::path(dir).filename().string();
  return run;
}

Result<ComparedRun> read_study(System& system, const std::string& dir, const Json& document) {
  const Study study = read_study(document);
  const auto result = result_of(study);
  const StudyRun* largest = nullptr;
  for (const StudyRun& run : study.runs)
    if (run.value && (largest == nullptr || run.ranks > largest->ranks)) largest = &run;
  if (largest == nullptr || result.points.empty())
    return Error{ErrorKind::bad_request, "the study " + dir + " has no value yet",
                 "the same `dllaunch study` with --run-dir continues it"};
  auto run = read_speaker(system, dir, largest->run);
  if (!run) return run;
  const auto measured =
      std::ranges::count_if(study.runs, [](const StudyRun& one) { return one.value.has_value(); });
  run->kind = ComparedKind::study;
  run->state = fmt::format("study, {} of {}", measured, counted(std::ssize(study.runs), "run"));
  run->value = result.points.back().value;
  run->unit = study.unit;
  run->epochs.clear();
  for (const StudyPoint& point : result.points)
    run->sizes.push_back({.ranks = point.ranks,
                          .value = point.value,
                          .low = point.low,
                          .high = point.high,
                          .efficiency = point.efficiency});
  return run;
}

Result<ComparedRun> read_sweep(System& system, const std::string& dir, const Json& document) {
  const auto best = value_at<Json>(document, "best");
  const auto name = best.is_object() ? value_at<std::string>(best, "run") : std::string();
  if (name.empty())
    return Error{ErrorKind::bad_request, "the sweep " + dir + " has no best trial yet",
                 "the same `dllaunch sweep` with --run-dir continues it"};
  auto run = read_speaker(system, dir, name);
  if (!run) return run;
  const auto trials = value_at<Json>(document, "trials");
  run->kind = ComparedKind::sweep;
  const auto number = value_at<std::int64_t>(best, "number");
  run->label += fmt::format(", trial {}", number);
  const auto own = fmt::format("{}-{}", value_at<std::string>(document, "name"), number);
  if (!run->job.is_null() && value_at<std::string>(run->job, "name") != own)
    run->notes.push_back(name + " holds another run than the trial's");
  run->state +=
      fmt::format(", best of {}", counted(trials.is_array() ? std::ssize(trials) : 0, "trial"));
  return run;
}

}  // namespace

Result<ComparedRun> read_compared(System& system, const std::string& query) {
  std::error_code ignored;
  auto dir = fs::absolute(query, ignored).lexically_normal().string();
  if (dir.size() > 1 && dir.ends_with('/')) dir.pop_back();
  const auto study = read_record(system, dir + "/study.json");
  if (!study) return study.error();
  if (!study->is_null()) return read_study(system, dir, *study);
  const auto sweep = read_record(system, dir + "/sweep.json");
  if (!sweep) return sweep.error();
  if (!sweep->is_null()) return read_sweep(system, dir, *sweep);
  const auto path = find_run(system, query);
  if (!path) return path.error();
  return read_run(system, *path);
}

}  // namespace dllaunch
