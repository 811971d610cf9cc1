// How `ps` shows runs: a table for people, JSON for programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "launcher/base/utf8.hpp"
#include "launcher/monitor/progress.hpp"
#include "launcher/monitor/run_state.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

std::string waiting_words(const RunView& view) {
  if (view.jobs.empty()) return "";
  const auto waiting = std::find_if(view.jobs.begin(), view.jobs.end(), [](const QueuedJob& job) {
    return is_waiting_state(job.state);
  });
  if (waiting == view.jobs.end()) return "";
  std::string text = explain_reason(waiting->reason);
  if (!waiting->start.empty()) text += ", expected to start " + waiting->start;
  return text;
}

std::string progress_words(const RunView& view) {
  const auto& point = view.point;
  if (!point.epoch) return point.last_line;
  std::string text = fmt::format("epoch {}", *point.epoch);
  if (view.run.epochs) text += fmt::format("/{}", *view.run.epochs);
  if (point.step) text += fmt::format(" step {}", *point.step);
  if (point.val_accuracy) text += fmt::format(" val_accuracy {:.4f}", *point.val_accuracy);
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

std::string padded(const std::string& text, int width) {
  return text +
         std::string(static_cast<std::size_t>(std::max(0, width - characters_in(text))), ' ');
}

using Row = std::array<std::string, 7>;

Row row_of(const RunView& view) {
  const auto& plan = view.run.plan;
  const bool waits = view.state == "pending";
  return {fs::path(view.run.dir.path).filename().string(),
          view.run.job_id.empty() ? "-" : view.run.job_id,
          view.state,
          view.seconds && !waits ? clock_time(*view.seconds) : "-",
          fmt::format("{}x{}", plan.nodes, plan.ranks_per_node),
          view.where.empty() ? "-" : view.where,
          waits ? waiting_words(view) : progress_words(view)};
}

}  // namespace

std::string render_runs(const std::vector<RunView>& views, int columns) {
  std::vector<Row> rows = {{"RUN", "JOB", "STATE", "TIME", "NODESxRANKS", "WHERE", "PROGRESS"}};
  for (const auto& view : views) {
    rows.push_back(row_of(view));
    // A line end in somebody's name would be a row of its own.
    for (auto& cell : rows.back()) cell = shown_line(cell);
  }
  std::array<int, 7> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths.at(i) = std::max(widths.at(i), std::min(40, characters_in(row.at(i))));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    // A run's name is there to be copied: whole, whatever it costs the others.
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      line += padded(i == 0 ? row[i] : shortened(row.at(i), 40), widths.at(i)) + "  ";
    }
    const int room = std::max(20, columns - characters_in(line));
    line += shortened(row.back(), room);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

Json to_json(const RunView& view) {
  const auto& run = view.run;
  Json jobs = Json::array();
  for (const auto& job : view.jobs) {
    jobs.push_back({{"id", job.id},
                    {"state", job.state},
                    {"reason", or_null(job.reason)},
                    {"expected_start", is_waiting_state(job.state) ? or_null(job.start) : Json()},
                    {"nodes", or_null(job.nodes)}});
  }
  return {{"run", fs::path(run.dir.path).filename().string()},
          {"name", run.plan.name},
          {"run_dir", run.dir.path},
          {"launcher", run.plan.launcher == Launcher::slurm ? "slurm" : "local"},
          {"job", or_null(run.job_id)},
          {"state", view.state},
          {"seconds", or_null(view.seconds)},
          {"nodes", run.plan.nodes},
          {"ranks", run.plan.ranks()},
          {"epoch", or_null(view.point.epoch)},
          {"epochs", or_null(run.epochs)},
          {"step", or_null(view.point.step)},
          {"val_accuracy", or_null(view.point.val_accuracy)},
          {"last_line", or_null(view.point.last_line)},
          {"where", or_null(view.where)},
          {"owner", view.owner && view.owner->pid > 0
                        ? Json{{"pid", view.owner->pid}, {"host", view.owner->host}}
                        : Json()},
          {"jobs", std::move(jobs)}};
}

}  // namespace dllaunch
