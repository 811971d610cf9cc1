#include "launcher/monitor/run_state.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "launcher/run/events.hpp"
#include "launcher/run/history.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

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
  const auto lines = lines_of(file_end(log, most_bytes));
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // Of a bar that redraws itself the last state.
    const auto text = line->substr(0, line->find_last_not_of("\r \t") + 1);
    auto shown = shown_line(text.substr(text.rfind('\r') + 1));
    if (shown.find_first_not_of(" \t") != std::string::npos) return shown;
  }
  return "";
}

/// PENDING, RUNNING, ... of the queue in our words; of several jobs the liveliest.
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
  std::string nodes;
  for (const auto& job : jobs) {
    if (job.nodes.empty() || is_waiting_state(job.state)) continue;
    nodes += (nodes.empty() ? "" : ",") + job.nodes;
  }
  return nodes;
}

/// An array's task and a part of a heterogeneous job have the whole's, and more.
bool has_number(const QueuedJob& job, const std::string& id) {
  if (id.empty() || !job.id.starts_with(id)) return false;
  return job.id.size() == id.size() || job.id[id.size()] == '_' || job.id[id.size()] == '+';
}

void view_slurm(const Queue& queue, RunView& view) {
  const auto& id = view.run.job_id;
  const bool queued = std::any_of(queue.jobs.begin(), queue.jobs.end(),
                                  [&](const QueuedJob& job) { return has_number(job, id); });
  if (queued) view.jobs = jobs_of(queue, identity_of(view.run.plan, view.run.dir, id));
  view.number_taken = queued && view.jobs.empty();
  view.state = word_of(view.jobs);
  view.where = joined_nodes(view.jobs);
  for (const auto& job : view.jobs) {
    const auto elapsed = parse_elapsed(job.elapsed);
    if (elapsed && *elapsed > view.seconds.value_or(0)) view.seconds = elapsed;
  }
  if (!view.state.empty()) return;
  view.state = stored_status(view.run);
  if (view.state.empty()) view.state = queue.answered ? "ended" : "unknown";
  if (view.run.job_id.empty()) view.state = view.owner ? "submitting" : "not submitted";
}

void view_local(double now_s, RunView& view) {
  view.where = view.owner && !view.owner->host.empty() ? view.owner->host : "this machine";
  if (view.owner) {
    view.state = "running";
    view.seconds = std::max(0.0, now_s - view.owner->since_s);
    return;
  }
  view.state = stored_status(view.run);
  if (view.state.empty()) view.state = "died";
}

}  // namespace

void take_event(const Event& event, RunPoint& point) {
  if (const auto* step = std::get_if<StepEvent>(&event)) {
    point.epoch = step->epoch;
    point.step = step->step;
    point.loss = step->loss;
    point.images_per_s = step->images_per_s;
  } else if (const auto* epoch = std::get_if<EpochEvent>(&event)) {
    point.epoch = epoch->epoch;
    if (epoch->val_accuracy) point.val_accuracy = epoch->val_accuracy;
  }
}

RunPoint read_point(const StoredRun& run) {
  constexpr std::size_t most_bytes = 65536;
  RunPoint point;
  History history;
  for (const auto& line : lines_of(file_end(run.dir.events(), most_bytes))) {
    const auto event = parse_event(line);
    if (!event || time_of(*event) < run.began_at_s - 1 || !history.take(*event)) continue;
    take_event(*event, point);
  }
  if (const auto log = newest_log(run.dir); !point.epoch && !log.empty())
    point.last_line = last_line_of(log);
  return point;
}

std::vector<QueuedJob> jobs_of(const Queue& queue, const JobIdentity& ours) {
  std::vector<QueuedJob> jobs;
  std::copy_if(queue.jobs.begin(), queue.jobs.end(), std::back_inserter(jobs),
               [&](const QueuedJob& job) {
                 return has_number(job, ours.id) && is_same_job(ours, job.origin);
               });
  return jobs;
}

RunView view_state(StoredRun run, const Queue& queue, double now_s) {
  RunView view{.run = std::move(run), .state = {}};
  view.owner = owner_of(view.run.dir);
  const bool slurm = view.run.plan.launcher == Launcher::slurm;
  if (slurm) view_slurm(queue, view);
  if (!slurm) view_local(now_s, view);
  if (!view.run.summary.is_null() && is_over(view)) {
    const auto seconds = view.run.summary.find("seconds");
    if (seconds != view.run.summary.end() && seconds->is_number())
      view.seconds = seconds->get<double>();
  }
  return view;
}

RunView view_run(StoredRun run, const Queue& queue, double now_s) {
  auto view = view_state(std::move(run), queue, now_s);
  view.point = read_point(view.run);
  return view;
}

bool is_over(const RunView& view) {
  constexpr std::array<std::string_view, 8> words = {"pending",    "running",      "suspended",
                                                     "completing", "unknown",      "elsewhere",
                                                     "submitting", "not submitted"};
  return std::find(words.begin(), words.end(), view.state) == words.end();
}

std::optional<double> parse_elapsed(std::string_view text) {
  double days = 0;
  const auto number = [](std::string_view digits) -> std::optional<double> {
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    return std::stod(std::string(digits));
  };
  if (const auto dash = text.find('-'); dash != std::string_view::npos) {
    const auto value = number(text.substr(0, dash));
    if (!value) return std::nullopt;
    days = *value;
    text.remove_prefix(dash + 1);
  }
  double seconds = 0;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    const auto colon = text.find(':');
    const auto value = number(text.substr(0, colon));
    if (!value || parts == 3) return std::nullopt;
    seconds = seconds * 60 + *value;
    more = colon != std::string_view::npos;
    if (more) text.remove_prefix(colon + 1);
  }
  return parts < 2 ? std::nullopt : std::optional(days * 86400 + seconds);
}

}  // namespace dllaunch
