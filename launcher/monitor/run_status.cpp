#include "launcher/monitor/run_status.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>
#include <utility>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/format.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/run/run_size.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_logs_shown = 8;

double age_s(const struct stat& info, double now_s) {
  return std::max(0.0, now_s - static_cast<double>(info.st_mtim.tv_sec));
}

std::vector<LogState> logs_of(const RunDir& dir, double now_s) {
  std::vector<LogState> logs;
  std::error_code error;
  for (fs::directory_iterator at(dir.out(), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const auto source = log_source(name);
    struct stat info {};
    if (!source || stat(at->path().c_str(), &info) != 0) continue;
    logs.push_back({.name = name,
                    .rank = source->rank,
                    .node = source->node,
                    .bytes = static_cast<std::uint64_t>(info.st_size),
                    .quiet_s = age_s(info, now_s)});
  }
  std::sort(logs.begin(), logs.end(), [](const LogState& a, const LogState& b) {
    return std::tie(a.rank, a.name) < std::tie(b.rank, b.name);
  });
  return logs;
}

/// Queued tasks from Slurm, the others from their directories.
std::vector<std::string> tasks_of(const RunState& run_state) {
  std::vector<std::string> tasks;
  if (!run_state.run.plan.array) return tasks;
  for (const auto& job : run_state.jobs) {
    const auto underscore = job.id.find('_');
    if (underscore == std::string::npos) continue;
    std::string text = job.id.substr(underscore + 1) + " ";
    text += is_waiting_state(job.state) ? "pending: " + explain_reason(job.reason) : "running";
    if (!job.nodes.empty() && !is_waiting_state(job.state)) text += " on " + job.nodes;
    tasks.push_back(std::move(text));
  }
  return tasks;
}

std::string size_words(std::uint64_t bytes) {
  constexpr double kib = 1024;
  const auto size = static_cast<double>(bytes);
  if (size < kib) return fmt::format("{} B", bytes);
  if (size < kib * kib) return fmt::format("{:.1f} KiB", size / kib);
  return fmt::format("{:.1f} MiB", size / (kib * kib));
}

std::string line_of(std::string_view title, const std::string& text) {
  return text.empty() ? "" : fmt::format("  {:12}{}\n", title, shown_line(text));
}

std::string state_words(const RunState& run_state) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> states = {{
      {"elsewhere", "elsewhere: its job is on another cluster (RUN/job.json names it)"},
      {"ended", "ended; no dllaunch followed it to the end"},
      {"died", "died: the dllaunch that ran it was killed before it could write a summary"},
      {"unknown", "unknown: Slurm does not answer"},
      {"not submitted", "not submitted: sbatch gave no job id"},
  }};
  const auto known = std::find_if(states.begin(), states.end(),
                                  [&](const auto& word) { return word.first == run_state.state; });
  std::string text(known == states.end() ? run_state.state : known->second);
  const bool waits = run_state.state == "pending";
  if (run_state.seconds && !waits) text += ", " + clock_time(*run_state.seconds);
  if (!run_state.where.empty() && !waits) text += " on " + run_state.where;
  if (waits) text += ": " + waiting_words(run_state);
  return text;
}

std::string log_words(const std::vector<LogState>& logs, bool over) {
  if (logs.empty()) return line_of("logs", "none yet");
  std::string text;
  for (std::size_t i = 0; i < std::min(logs.size(), most_logs_shown); ++i) {
    const auto& log = logs[i];
    text += line_of(i == 0 ? "logs" : "",
                    fmt::format("out/{}  {}{}", log.name, size_words(log.bytes),
                                over ? "" : fmt::format(", quiet for {:.0f} s", log.quiet_s)));
  }
  if (logs.size() <= most_logs_shown) return text;
  const auto quietest =
      std::max_element(logs.begin(), logs.end(),
                       [](const LogState& a, const LogState& b) { return a.quiet_s < b.quiet_s; });
  return text +
         line_of("", fmt::format("and {} more; quiet for longest: out/{}, {:.0f} s",
                                 logs.size() - most_logs_shown, quietest->name, quietest->quiet_s));
}

std::string word_in_summary(const RunStatusView& status, const char* key) {
  return value_at<std::string>(status.run_state.run.summary, key);
}

/// For the current job; omitted if all went well.
std::string supervisor_words(const StoredRun& run, const Journal& journal, bool over) {
  const auto& last = journal.last;
  if (!last || last->status == RunStatus::completed) return "";
  const bool ours = last->job == run.job_id || last->time >= run.began_at_s - 1;
  if (!ours) return "";
  if (last->next != Next::hold) return words_of(*last);
  if (journal.retry && journal.retry->time >= last->time) return words_of(*journal.retry);
  return over ? words_of(*last) : hold_words(*last, run.dir);
}

/// Of the newest, since the run was submitted.
std::string corruption_words(const StoredRun& run, const Journal& journal) {
  if (journal.corruptions.empty()) return "";
  const auto& last = journal.corruptions.back();
  return last.time < run.began_at_s - 1 ? "" : shown_line(last.line);
}

/// Of stacks that were kept since the run was submitted, unless the stall that they are of is over.
std::string stack_words(const StoredRun& run, const RunTotals& totals) {
  const auto stacks = newest_stacks(run.dir.path);
  if (!stacks || stacks->time_s < run.began_at_s - 1) return "";
  if (stacks->kind == StacksKind::stall && totals.stalls() > 0 && !totals.stall()) return "";
  const std::string words =
      stacks->sentence.empty() ? "no rank is unlike the others" : stacks->sentence;
  return shown_line(fmt::format("{} ({}): autopsy/{}.txt", words, stacks->why, stacks->name));
}

/// Ranks whose srun waits for the job's own resources, by the last line of their logs.
std::string step_words(const RunDir& dir, const std::vector<LogState>& logs) {
  constexpr std::size_t most_bytes = 2048;
  for (const auto& log : logs) {
    if (log.rank < 0) continue;
    const auto end = file_end(dir.out() + "/" + log.name, most_bytes);
    if (waits_for_a_step(last_line(end)))
      return fmt::format("srun of rank {} on {} {}", log.rank, log.node, overlap_words);
  }
  return "";
}

/// What is odd about the ranks of a run that goes on.
std::vector<std::string> words_of_ranks(const RunStatusView& status) {
  std::vector<std::string> all;
  const auto& run = status.run_state.run;
  if (is_over(status.run_state) || run.plan.array) return all;
  const auto add = [&all](const std::string& component, const std::string& words) {
    if (!words.empty()) all.push_back(component.empty() ? words : component + ": " + words);
  };
  add("", step_words(run.dir, status.logs));
  if (run.plan.components.empty()) add("", words_of_who_left(run.dir));
  for (const auto& component : run.plan.components)
    add(component.name, words_of_who_left({.path = component_dir(run.dir.path, component.name)}));
  return all;
}

/// Returns the commands to type next.
std::string command_lines(const RunStatusView& status) {
  const auto& run = status.run_state.run;
  const std::string dir = shell_quote(run.dir.path);
  if (!is_over(status.run_state))
    return line_of("follow", "dllaunch logs -f " + dir) + line_of("attach", status.next) +
           line_of("cancel", "dllaunch cancel " + dir);
  std::string text = line_of("read", "dllaunch logs " + dir);
  if (status.run_state.state != "completed")
    text += line_of("next", next_words(status.next, !status.checkpoint.empty(), run.trains));
  return text;
}

/// Wall time so far is that of the events until now, or Slurm's if longer.
std::optional<double> goodput_of(const RunStatusView& status, double now_s) {
  const RunState& run_state = status.run_state;
  const auto stored = value_at<std::optional<double>>(run_state.run.summary, "goodput");
  if (is_over(run_state) && stored) return stored;
  const History& history = status.totals.history();
  const double span = is_over(run_state) ? history.span_seconds() : history.span_until(now_s);
  double most = RunTotals::no_bound;
  if (run_state.run.began_at_s > 0) most = std::max(0.0, now_s - run_state.run.began_at_s);
  return status.totals.goodput(std::max(std::min(span, most), run_state.seconds.value_or(0.0)),
                               most);
}

std::string goodput_words(const RunStatusView& status) {
  if (!status.goodput) return "";
  std::string text = fmt::format("{:.0f} %", 100 * *status.goodput);
  if (!is_over(status.run_state)) text += " so far";
  const History& history = status.totals.history();
  text += ", " + clock_time(history.step_seconds()) + " of training steps";
  if (history.lost_steps() > 0)
    text += fmt::format("; {} lost, {}", counted(history.lost_steps(), "step"),
                        clock_time(history.lost_seconds()));
  return line_of("goodput", text);
}

/// One line each, newest last; for a command, which has no history, only their number.
std::string restart_lines(const RunStatusView& status) {
  constexpr std::size_t most_shown = 8;
  const History& history = status.totals.history();
  if (history.restarts().empty() && status.restarts > 0)
    return line_of("restarts", std::to_string(status.restarts));
  const auto& restarts = history.restarts();
  const std::size_t shown = std::min(most_shown, restarts.size());
  std::string text;
  if (restarts.size() > shown || history.restart_count() > std::ssize(restarts))
    text += line_of("restarts", fmt::format("{}; the latest:", history.restart_count()));
  for (std::size_t i = restarts.size() - shown; i < restarts.size(); ++i) {
    text += line_of(text.empty() ? "restarts" : "", restart_words(restarts[i]));
  }
  return text;
}

}  // namespace

RunStatusView status_of(RunState run_state, double now_s) {
  auto totals = read_totals(run_state.run.dir, run_state.run.began_at_s);
  return status_of(std::move(run_state), std::move(totals), now_s);
}

RunStatusView status_of(RunState run_state, RunTotals totals, double now_s) {
  RunStatusView status{.run_state = std::move(run_state), .logs = {}};
  const auto& dir = status.run_state.run.dir;
  status.logs = logs_of(dir, now_s);
  status.checkpoint = newest_checkpoint(dir);
  struct stat info {};
  if (!status.checkpoint.empty() && stat(status.checkpoint.c_str(), &info) == 0)
    status.checkpoint_age_s = age_s(info, now_s);
  const auto journal = read_journal(dir);
  status.supervisor = status.run_state.waits;
  if (status.supervisor.empty())
    status.supervisor = supervisor_words(status.run_state.run, journal, is_over(status.run_state));
  status.corrupted = corruption_words(status.run_state.run, journal);
  status.stacks = stack_words(status.run_state.run, totals);
  status.tasks = tasks_of(status.run_state);
  status.ranks = words_of_ranks(status);
  status.totals = std::move(totals);
  status.restarts =
      std::max(status.totals.restarts(), restarts_in(journal, status.run_state.run.job_id));
  status.goodput = goodput_of(status, now_s);
  // The end of the file alone would still count epochs that were lost later.
  if (status.totals.epochs() > 0)
    status.run_state.progress.val_accuracy = status.totals.val_accuracy();
  return status;
}

std::string render_status(const RunStatusView& status) {
  const auto& run_state = status.run_state;
  const auto& plan = run_state.run.plan;
  std::string text = shown_line(fmt::format("{}: {}", plan.name, state_words(run_state))) + "\n";
  if (is_over(run_state)) {
    text += line_of("first error", word_in_summary(status, "first_error"));
    text += line_of("why", word_in_summary(status, "reason"));
    text += line_of("try", word_in_summary(status, "advice"));
  }
  text += line_of("run", run_state.run.dir.path);
  text += line_of("job", run_state.run.job_id);
  text += line_of("daemon", status.daemon);
  if (run_state.owner && run_state.owner->pid > 0)
    text += line_of("followed by",
                    fmt::format("process {} on {}", run_state.owner->pid, run_state.owner->host));
  text += line_of("ranks", rank_words(plan, run_state.sizes));
  for (const auto& words : status.ranks) text += line_of("", words);
  text += line_of("progress", progress_words(run_state));
  if (!status.checkpoint.empty())
    text += line_of("checkpoint", fmt::format("{} ({} ago)", status.checkpoint,
                                              clock_time(status.checkpoint_age_s.value_or(0))));
  for (const auto& refused : status.totals.refused())
    text += line_of("refused", shown_line(fmt::format("{}: {}", refused.path, refused.why)));
  text += line_of("supervisor", status.supervisor);
  text += line_of("corrupted", status.corrupted);
  text += line_of("stacks", status.stacks);
  text += goodput_words(status);
  text += restart_lines(status);
  const auto components = lines_of(status.components);
  for (std::size_t i = 0; i < components.size(); ++i)
    text += line_of(i == 0 ? "components" : "", components[i]);
  for (std::size_t i = 0; i < status.tasks.size(); ++i)
    text += line_of(i == 0 ? "tasks" : "", status.tasks[i]);
  if (!plan.array && plan.components.empty()) text += log_words(status.logs, is_over(run_state));
  return text + command_lines(status);
}

Json to_json(const RunStatusView& status) {
  Json document = to_json(status.run_state);
  for (const char* key : {"reason", "first_error", "advice"})
    document[key] = or_null(word_in_summary(status, key));
  document["daemon"] = or_null(status.daemon);
  document["checkpoint"] = or_null(status.checkpoint);
  const History& history = status.totals.history();
  document["restarts"] = status.restarts;
  document["goodput"] = or_null(status.goodput);
  document["lost_steps"] = history.lost_steps();
  document["lost_seconds"] = history.lost_seconds();
  document["restart_list"] = json_of(history.restarts());
  document["supervisor"] = or_null(status.supervisor);
  if (!status.corrupted.empty()) document["corrupted"] = status.corrupted;
  if (!status.stacks.empty()) document["stacks"] = status.stacks;
  if (!status.ranks.empty()) document["rank_notes"] = status.ranks;
  document["logs"] = Json::array();
  for (const auto& log : status.logs) {
    document["logs"].push_back({{"name", log.name},
                                {"rank", log.rank < 0 ? Json() : Json(log.rank)},
                                {"node", log.node},
                                {"bytes", log.bytes},
                                {"quiet_seconds", log.quiet_s}});
  }
  if (!status.components.empty()) document["components"] = to_json(status.components);
  document["summary"] = status.run_state.run.summary;
  return document;
}

}  // namespace dllaunch
