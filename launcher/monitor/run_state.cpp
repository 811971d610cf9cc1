#include "launcher/monitor/run_state.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "launcher/base/format.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/history.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/kept_files.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/run/run_size.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/id_set.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::string newest_log(const RunDir& dir) {
  std::string newest;
  fs::file_time_type newest_time;
  std::error_code error;
  for (fs::directory_iterator at(dir.out(), error), end; !error && at != end; at.increment(error)) {
    if (!log_source(at->path().filename().string())) continue;
    std::error_code ignored;
    const auto time = at->last_write_time(ignored);
    if (!newest.empty() && time <= newest_time) continue;
    newest = at->path().string();
    newest_time = time;
  }
  return newest;
}

std::string last_line_of(const std::string& log) {
  constexpr std::size_t most_bytes = 8192;
  const auto end = file_end(log, most_bytes);
  const auto lines = list_of_lines(end);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // Take the last state of a redrawn bar.
    const auto text = line->substr(0, line->find_last_not_of("\r \t") + 1);
    auto shown = shown_line(text.substr(text.rfind('\r') + 1));
    if (shown.find_first_not_of(" \t") != std::string::npos) return shown;
  }
  return "";
}

/// Maps PENDING, RUNNING, ... to dllaunch's states; of several jobs the most active counts.
std::string word_of(const std::vector<QueuedJob>& jobs) {
  const auto any = [&](auto matches) { return std::any_of(jobs.begin(), jobs.end(), matches); };
  const auto is = [](const char* state) {
    return [state](const QueuedJob& job) { return job.state == state; };
  };
  const auto runs = [](const QueuedJob& job) {
    return !is_waiting_state(job.state) && !is_final_state(job.state) && job.state != "COMPLETING";
  };
  if (any(runs)) return any(is("RUNNING")) ? "running" : "suspended";
  if (any([](const QueuedJob& job) { return is_waiting_state(job.state); })) return "pending";
  return any(is("COMPLETING")) ? "completing" : "";
}

std::string joined_nodes(const std::vector<QueuedJob>& jobs) {
  std::vector<std::string> nodes;
  for (const auto& job : jobs) {
    if (is_waiting_state(job.state)) continue;
    if (auto hosts = expand_hosts(job.nodes))
      std::ranges::move(*hosts, std::back_inserter(nodes));
    else
      nodes.push_back(job.nodes);
  }
  return compress_host_set(std::move(nodes));
}

/// Whether the job has this id; also true for tasks of an array and components of a heterogeneous
/// job.
bool has_number(const QueuedJob& job, const std::string& id) {
  if (!id.empty() && job_number(job.id) == id) return true;
  if (id.empty() || !job.id.starts_with(id)) return false;
  return job.id.size() == id.size() || job.id[id.size()] == '_' || job.id[id.size()] == '+';
}

void take_jobs(std::vector<QueuedJob> jobs, RunState& run_state) {
  run_state.jobs = std::move(jobs);
  run_state.state = word_of(run_state.jobs);
  run_state.where = joined_nodes(run_state.jobs);
  for (const auto& job : run_state.jobs) {
    if (is_waiting_state(job.state)) continue;
    const auto elapsed = parse_slurm_elapsed(job.elapsed);
    if (elapsed) run_state.seconds = std::max(*elapsed, run_state.seconds.value_or(0));
  }
}

void set_slurm_state(const Queue& queue, RunState& run_state) {
  const auto& id = run_state.run.job_id;
  const bool queued = std::any_of(queue.jobs.begin(), queue.jobs.end(),
                                  [&](const QueuedJob& job) { return has_number(job, id); });
  if (queued)
    take_jobs(jobs_of(queue, identity_of(run_state.run.plan, run_state.run.dir, id)), run_state);
  run_state.number_taken = queued && run_state.jobs.empty();
  // `run` leaves a job whose run has ended while Slurm still waits for a node of it.
  const bool left = run_state.state == "completing" &&
                    value_at<std::string>(run_state.run.summary, "submission") == "job " + id;
  if (!run_state.state.empty() && !left) return;
  run_state.state = stored_status(run_state.run);
  if (run_state.state.empty()) run_state.state = queue.answered ? "ended" : "unknown";
  if (run_state.run.job_id.empty())
    run_state.state = run_state.owner ? "submitting" : "not submitted";
}

void set_local_state(double now_s, RunState& run_state) {
  if (run_state.owner) {
    run_state.where = run_state.owner->host;
    run_state.state = "running";
    run_state.seconds = std::max(0.0, now_s - run_state.owner->since_s);
    return;
  }
  run_state.state = stored_status(run_state.run);
  if (run_state.state.empty()) run_state.state = "died";
}

}  // namespace

namespace {

/// "rank 1 late since 10:03:04", "ranks 1,3 late since 10:03:04"; empty: the stall is over.
std::string words_of_stall(const StallEvent& stall) {
  if (stall.state == "over") return "";
  IdSet late;
  for (const auto rank : stall.late_ranks)
    if (rank >= 0 && rank <= IdSet::max_id) late.insert(static_cast<int>(rank));
  const auto since = clock_at(stall.time - stall.seconds.value_or(0), "%H:%M:%S");
  if (late.empty()) return "since " + since;
  return fmt::format("rank{} {} late since {}", late.size() == 1 ? "" : "s", to_list(late), since);
}

}  // namespace

void take_event(const Event& event, RunProgress& progress) {
  // A rank that died is in no stall: its death is the supervisor's.
  const auto* stall = std::get_if<StallEvent>(&event);
  if (stall == nullptr) progress.stalled.clear();
  if (stall != nullptr && stall->state != "died") progress.stalled = words_of_stall(*stall);
  if (const auto* step = std::get_if<StepEvent>(&event)) {
    progress.epoch = step->epoch;
    progress.step = step->step;
    progress.loss = step->loss;
    progress.images_per_s = step->images_per_s;
  } else if (const auto* epoch = std::get_if<EpochEvent>(&event)) {
    progress.epoch = epoch->epoch;
    if (epoch->val_accuracy) progress.val_accuracy = epoch->val_accuracy;
  }
}

RunProgress read_progress(const StoredRun& run) {
  constexpr std::size_t most_bytes = 65536;
  RunProgress progress;
  History history;
  const auto end = file_end(run.dir.events(), most_bytes);
  for (const auto line : split_lines(end)) {
    const auto event = parse_event(line);
    if (!event || time_of(*event) < run.began_at_s - 1 || !history.take(*event)) continue;
    take_event(*event, progress);
  }
  if (const auto log = newest_log(run.dir); !progress.epoch && !log.empty())
    progress.last_line = last_line_of(log);
  return progress;
}

std::vector<QueuedJob> jobs_of(const Queue& queue, const JobIdentity& ours) {
  std::vector<QueuedJob> jobs;
  std::copy_if(queue.jobs.begin(), queue.jobs.end(), std::back_inserter(jobs),
               [&](const QueuedJob& job) {
                 return has_number(job, ours.id) && is_same_job(ours, job.origin);
               });
  return jobs;
}

RunState run_state_without_progress(StoredRun run, const Queue& queue, double now_s) {
  RunState run_state{.run = std::move(run), .state = {}};
  run_state.owner = owner_of(run_state.run.dir);
  const bool slurm = run_state.run.plan.launcher == Launcher::slurm;
  if (slurm) set_slurm_state(queue, run_state);
  if (!slurm) set_local_state(now_s, run_state);
  if (is_over(run_state))
    run_state.seconds = value_at(run_state.run.summary, "seconds", run_state.seconds);
  return run_state;
}

RunState run_state_of(StoredRun run, const Queue& queue, double now_s) {
  auto run_state = run_state_without_progress(std::move(run), queue, now_s);
  run_state.progress = read_progress(run_state.run);
  const auto& stored = run_state.run;
  const bool elastic = stored.plan.recovery.elastic();
  const bool running = stored.plan.launcher == Launcher::slurm && run_state.state == "running";
  const auto journal = elastic || running ? read_journal(stored.dir) : Journal{};
  if (elastic) run_state.sizes = sizes_in(journal, stored.plan, stored.job_id);
  if (running && journal.waits && journal.waits->time >= stored.began_at_s - 1)
    run_state.waits = words_of(*journal.waits);
  if (is_over(run_state)) run_state.where = hosts_of_ranks(run_state.run.dir);
  return run_state;
}

std::optional<RunState> state_of_away_run(const std::string& path, const Queue& queue) {
  const RunDir dir{.path = path};
  std::vector<QueuedJob> jobs;
  std::ranges::copy_if(queue.jobs, std::back_inserter(jobs), [&dir](const QueuedJob& job) {
    return is_script_of(dir, script_of(job.origin)) && !is_final_state(job.state);
  });
  if (jobs.empty()) return std::nullopt;
  RunState run_state{.run = {.dir = dir, .plan = {}, .summary = {}}, .state = {}};
  auto& run = run_state.run;
  run.plan.name = name_in_run(fs::path(path).filename().string());
  run.plan.launcher = Launcher::slurm;
  run.plan.nodes = run.plan.ranks_per_node = 0;  // unknown
  const auto id = job_number(jobs.front().id);
  run.job_id = id.substr(0, id.find('_'));
  take_jobs(std::move(jobs), run_state);
  run_state.progress.last_line = "its directory is away: " + path;
  return run_state;
}

bool is_over(const RunState& run_state) {
  constexpr std::array<std::string_view, 8> states = {"pending",    "running",      "suspended",
                                                      "completing", "unknown",      "elsewhere",
                                                      "submitting", "not submitted"};
  return std::find(states.begin(), states.end(), run_state.state) == states.end();
}

}  // namespace dllaunch
