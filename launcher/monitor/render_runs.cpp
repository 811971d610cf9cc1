// The output of `ps`: a table, or JSON.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "launcher/base/format.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/table.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/monitor/run_state.hpp"
#include "launcher/run/run_size.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace fs = std::filesystem;

std::string waiting_words(const RunState& run_state) {
  if (run_state.jobs.empty()) return "";
  const auto waiting =
      std::find_if(run_state.jobs.begin(), run_state.jobs.end(),
                   [](const QueuedJob& job) { return is_waiting_state(job.state); });
  if (waiting == run_state.jobs.end()) return "";
  return explain_waiting(waiting->reason, waiting->start);
}

std::string progress_words(const RunState& run_state) {
  const auto& progress = run_state.progress;
  // The last line of a failed command is often that of a rank that lost the one that failed.
  if (auto cause = value_at<std::string>(run_state.run.summary, "first_error");
      !progress.epoch && !cause.empty())
    return cause;
  std::string text;
  if (!progress.stalled.empty() && !is_over(run_state))
    text = fmt::format("stalled: {}; ", progress.stalled);
  if (!progress.epoch) return text + progress.last_line;
  text += fmt::format("epoch {}", *progress.epoch);
  // Of the two limits, max_steps is usually met first, and then not all epochs are trained.
  if (run_state.run.epochs && !run_state.run.max_steps)
    text += fmt::format("/{}", *run_state.run.epochs);
  if (progress.step) text += fmt::format(" step {}", *progress.step);
  if (progress.step && run_state.run.max_steps)
    text += fmt::format("/{}", *run_state.run.max_steps);
  if (progress.val_accuracy) text += fmt::format(" val_accuracy {:.4f}", *progress.val_accuracy);
  return text;
}

namespace {

std::string shortened(const std::string& text, int most) {
  if (characters_in(text) <= most) return text;
  std::string cut;
  std::string_view rest = text;
  for (int i = 0; i < most - 3 && !rest.empty(); ++i) {
    const auto length = std::max<std::size_t>(1, utf8_length(rest));
    cut += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  return cut + "...";
}

/// "2x4", of a modular run "1x1+2x4"; of an elastic run, as it is now.
std::string shape_of(const RunState& run_state) {
  const auto& plan = run_state.run.plan;
  std::string text;
  for (const auto& one : plan.components)
    text += fmt::format("{}{}x{}", text.empty() ? "" : "+", one.nodes, one.ranks_per_node);
  if (!text.empty()) return text;
  if (plan.nodes == 0) return "-";
  return fmt::format("{}x{}", run_state.sizes.empty() ? plan.nodes : run_state.sizes.back(),
                     plan.ranks_per_node);
}

TableRow row_of(const RunState& run_state) {
  const bool waits = run_state.state == "pending";
  return {fs::path(run_state.run.dir.path).filename().string(),
          run_state.run.job_id.empty() ? "-" : run_state.run.job_id,
          run_state.state,
          run_state.seconds && !waits ? clock_time(*run_state.seconds) : "-",
          shape_of(run_state),
          run_state.where.empty() ? "-" : run_state.where,
          waits                     ? waiting_words(run_state)
          : run_state.waits.empty() ? progress_words(run_state)
                                    : run_state.waits};
}

}  // namespace

std::string render_runs(const std::vector<RunState>& run_states, int columns) {
  constexpr int widest = 40;
  constexpr int least_progress = 20;
  std::vector<TableRow> rows = {
      {"RUN", "JOB", "STATE", "TIME", "NODESxRANKS", "WHERE", "PROGRESS"}};
  for (const auto& run_state : run_states) {
    auto& row = rows.emplace_back(row_of(run_state));
    // A newline in a name would start a new row.
    for (auto& cell : row) cell = shown_line(cell);
    // A run's name is never cut: it is there to be copied.
    for (std::size_t i = 1; i + 1 < row.size(); ++i) row[i] = shortened(row[i], widest);
  }
  const auto lines = table_lines(rows, widest);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const int before = characters_in(lines[i]) - characters_in(rows[i].back());
    text += shortened(lines[i], std::max(columns, before + least_progress)) + "\n";
  }
  return text;
}

Json to_json(const RunState& run_state) {
  const auto& run = run_state.run;
  const auto& sizes = run_state.sizes;
  Json jobs = Json::array();
  for (const auto& job : run_state.jobs) {
    jobs.push_back({{"id", job.id},
                    {"state", job.state},
                    {"reason", or_null(job.reason)},
                    {"expected_start", is_waiting_state(job.state) ? or_null(job.start) : Json()},
                    {"nodes", or_null(job.nodes)}});
  }
  Json document = {
      {"run", fs::path(run.dir.path).filename().string()},
      {"name", run.plan.name},
      {"run_dir", run.dir.path},
      {"launcher", run.plan.launcher == Launcher::slurm ? "slurm" : "local"},
      {"job", or_null(run.job_id)},
      {"state", run_state.state},
      {"over", is_over(run_state)},
      {"seconds", or_null(run_state.seconds)},
      {"nodes", run.plan.nodes > 0 ? Json(run.plan.nodes) : Json()},
      {"ranks", run.plan.nodes > 0 ? Json(run.plan.ranks()) : Json()},
      {"epoch", or_null(run_state.progress.epoch)},
      {"epochs", or_null(run.epochs)},
      {"step", or_null(run_state.progress.step)},
      {"max_steps", or_null(run.max_steps)},
      {"val_accuracy", or_null(run_state.progress.val_accuracy)},
      {"stalled", is_over(run_state) ? Json() : or_null(run_state.progress.stalled)},
      {"last_line", or_null(run_state.progress.last_line)},
      {"waits", or_null(run_state.waits)},
      {"where", or_null(run_state.where)},
      {"owner", run_state.owner && run_state.owner->pid > 0
                    ? Json{{"pid", run_state.owner->pid}, {"host", run_state.owner->host}}
                    : Json()},
      {"jobs", std::move(jobs)}};
  if (!sizes.empty()) {
    document["ranks_now"] = ranks_now(run.plan, sizes);
    document["nodes_now"] = sizes.back();
  }
  return document;
}

}  // namespace dllaunch
