#include "launcher/queue/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "launcher/job/job_changes.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/node_selection.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/study/study_value.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_runs = 100;

bool same_amount(const Job& before, const Job& now, const char* key) {
  return value_at<Json>(before.train, key) == value_at<Json>(now.train, key);
}

/// Whether both compute the same, whatever their ranks.
bool is_same_work(const Job& before, int ranks_before, const Job& now, int ranks_now) {
  for (const auto& change : changes_that_matter(before.resolved, now.resolved))
    if (!change.starts_with("train.batch_size: ")) return false;
  if (ranks_before != ranks_now && !same_on_other_ranks(now)) return false;
  if (now.train.is_null() || before.train.is_null())
    return now.train.is_null() == before.train.is_null();
  if (!same_amount(before, now, "max_steps")) return false;
  const auto batch = value_at<std::optional<std::int64_t>>(now.train, "batch_size");
  const auto earlier = value_at<std::optional<std::int64_t>>(before.train, "batch_size");
  if (!batch || !earlier) return !batch && !earlier && ranks_before == ranks_now;
  return *batch * ranks_now == *earlier * ranks_before;
}

bool ran_on(const RunDir& run, const std::set<std::string>& hosts) {
  if (hosts.empty()) return false;
  const auto own = expand_hosts(hosts_of_ranks(run));
  return own && std::ranges::any_of(*own, [&](const auto& host) { return hosts.contains(host); });
}

/// nullopt: the run tells nothing of the job.
std::optional<double> seconds_in(System& system, const StoredRun& run, const Job& job, int ranks) {
  const bool on_slurm = run.plan.launcher == Launcher::slurm || run.plan.allocated;
  if (stored_status(run) != "completed" || run.plan.array || !on_slurm) return std::nullopt;
  const auto seconds = value_at<double>(run.summary, "seconds");
  const bool whole = value_at<std::int64_t>(run.summary, "submissions", 1) <= 1 &&
                     value_at<std::int64_t>(run.summary, "restarts") == 0;
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  const auto text = read_run_file(system, run.dir.job_yaml(), most_bytes);
  if (!whole || seconds <= 0 || !text) return std::nullopt;
  const auto before = parse_job(*text, run.dir.job_yaml(), {});
  if (!before.job || !is_same_work(*before.job, run.plan.ranks(), job, ranks)) return std::nullopt;
  if (job.train.is_null() || same_amount(*before.job, job, "epochs")) return seconds;
  StudyRun measured;
  measure(system, run.dir.path, *before.job, measured);
  const auto done = value_at<std::optional<std::int64_t>>(before.job->train, "epochs");
  const auto wanted = value_at<std::optional<std::int64_t>>(job.train, "epochs");
  if (!measured.epoch_s || !done || !wanted) return std::nullopt;
  const double beside_s = std::max(0.0, seconds - *measured.epoch_s * static_cast<double>(*done));
  return beside_s + *measured.epoch_s * static_cast<double>(*wanted);
}

}  // namespace

bool same_on_other_ranks(const Job& job) {
  const auto schedule = value_at<Json>(job.train, "lr_schedule");
  return !schedule.is_object() || schedule.value("scaling", Json("none")) == "none";
}

double seconds_on(const Work& work, int ranks) {
  if (!work.measured()) return work.own_limit_s * work.own_ranks / ranks;
  const auto known = std::ranges::find(work.sizes, ranks, &SizeTimes::ranks);
  if (known != work.sizes.end()) return median(known->times);
  if (work.sizes.size() > 1) return fit_scaling(work.sizes, Scaling::strong).at(ranks);
  const auto& only = work.sizes.front();
  return median(only.times) * only.ranks / ranks;
}

std::string source_of(const Work& work) {
  if (!work.measured())
    return "no run of this job is known here: it is taken to work until its time limit, or until "
           "it saves before that, and to scale with its ranks";
  std::string sizes;
  for (std::size_t i = 0; i < work.sizes.size(); ++i)
    sizes += fmt::format("{}{}",
                         i == 0                       ? ""
                         : i + 1 == work.sizes.size() ? " and "
                                                      : ", ",
                         work.sizes[i].ranks);
  return fmt::format("{} of this job on {} rank{}{}{}", counted(work.runs, "run"), sizes,
                     sizes == "1" ? "" : "s",
                     work.of_studies > 0 ? fmt::format(", {} of a study", work.of_studies) : "",
                     work.sizes.size() == 1 ? "; it is taken to scale with its ranks" : "");
}

std::set<std::string> hosts_of_another_kind(const Job& job, const SlurmFacts& slurm, bool gpus) {
  std::set<std::string> hosts;
  const auto own = select_nodes(job, slurm, gpus);
  if (!own) return hosts;
  for (const auto& partition : slurm.partitions)
    for (const auto& type : partition.node_types)
      if (!same_hardware(type, own->shape)) hosts.insert(type.hosts.begin(), type.hosts.end());
  return hosts;
}

void add_past_runs(System& system, const Job& job, const std::set<std::string>& others,
                   Work& work) {
  std::map<int, SizeTimes> sizes;
  for (const auto& path : known_runs(system, most_runs)) {
    const auto run = read_stored_run(system, path);
    if (!run || run->plan.name != job.name) continue;
    // Of one that lost nodes it is not known which ranks took how long.
    if (value_at<std::int64_t>(run->summary, "planned_ranks") > 0) continue;
    const auto seconds = seconds_in(system, *run, job, work.own_ranks);
    if (!seconds || ran_on(run->dir, others)) continue;
    auto& size = sizes[run->plan.ranks()];
    size.ranks = run->plan.ranks();
    size.times.push_back(*seconds);
    ++work.runs;
    std::error_code ignored;
    const auto parent = std::filesystem::path(path).parent_path();
    if (std::filesystem::exists(parent / "study.json", ignored)) ++work.of_studies;
  }
  for (auto& [ranks, size] : sizes) work.sizes.push_back(std::move(size));
}

}  // namespace dllaunch
