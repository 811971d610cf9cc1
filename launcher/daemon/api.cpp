#include "launcher/daemon/api.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "launcher/base/split.hpp"
#include "launcher/base/terminal_text.hpp"
#include "launcher/base/version.hpp"
#include "launcher/daemon/curve.hpp"
#include "launcher/daemon/metrics.hpp"
#include "launcher/daemon/page.hpp"
#include "launcher/daemon/run_text.hpp"
#include "launcher/drawing/line_chart.hpp"
#include "launcher/drawing/page.hpp"
#include "launcher/monitor/run_status.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/report/run_charts.hpp"
#include "launcher/report/run_page.hpp"
#include "support/json_fields.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// Paths and logs may contain any bytes; JSON is UTF-8. curl prints it to a terminal.
ApiAnswer json_answer(const Json& document, int status = 200) {
  return {.status = status,
          .type = "application/json",
          .body = terminal_text(document.dump(-1, ' ', /*ensure_ascii=*/false,
                                              Json::error_handler_t::replace)) +
                  "\n"};
}

/// The directory of the sweep or study that the run is a trial or a repeat of, by their names;
/// empty: of none.
std::string experiment_of(const RunRecord& run) {
  const auto& name = run.name;
  const bool repeat = name.starts_with("ranks-") && name.find("-repeat-") != std::string::npos;
  const bool part = repeat || name.starts_with("trial-") || name == "allocation";
  return part ? std::filesystem::path(run.dir).parent_path().string() : "";
}

Json to_json(const RunRecord& run) {
  return {{"id", run.id},
          {"run", run.name},
          {"experiment", or_null(experiment_of(run))},
          {"name", run.job},
          {"run_dir", run.dir},
          {"launcher", run.launcher},
          {"job", or_null(run.job_id)},
          {"state", run.state},
          {"over", run.over},
          {"began", or_null(run.began_s)},
          {"ended", or_null(run.ended_s)},
          {"seconds", or_null(run.seconds)},
          {"where", or_null(run.where)},
          {"reason", or_null(run.reason)},
          {"decision", or_null(run.decision)},
          {"submissions", run.submissions},
          {"wish", or_null(run.wish)},
          {"epoch", or_null(run.epoch)},
          {"step", or_null(run.step)},
          {"loss", or_null(run.loss)},
          {"val_accuracy", or_null(run.val_accuracy)},
          {"images_per_s", or_null(run.images_per_s)}};
}

/// "/v1/runs/a/logs/b" -> v1 runs a logs b
std::vector<std::string> segments_of(const std::string& path) {
  const auto segments = split_at(path, '/');
  return {segments.begin() + 1, segments.end()};
}

/// Returns nullopt if the parameter is present but not a number.
std::optional<std::int64_t> number_in(const ApiRequest& request, const char* key,
                                      std::int64_t otherwise) {
  const auto found = request.query.find(key);
  if (found == request.query.end()) return otherwise;
  return parse_number<std::int64_t>(found->second);
}

std::string replaced(std::string_view text, std::string_view mark, std::string_view by) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return std::string(text);
  return fmt::format("{}{}{}", text.substr(0, at), by, text.substr(at + mark.size()));
}

ApiAnswer page_answer(std::string text) {
  return {.status = 200, .type = "text/html; charset=utf-8", .body = std::move(text)};
}

ApiAnswer not_found() {
  return error_answer(404, "not found");
}

ApiAnswer text_answer(const RunText& part, const std::string& type) {
  return {.status = 200,
          .type = type,
          .body = part.text,
          .headers = {{"X-From", std::to_string(part.from)},
                      {"X-Next", std::to_string(part.from + part.text.size())},
                      {"X-Size", std::to_string(part.bytes)}}};
}

/// Finds "id:7" by id, anything else by directory name. If no run has that name, a bare number is
/// an id.
Result<std::optional<RunRecord>> find_run(Store& store, const std::string& word) {
  constexpr std::string_view mark = "id:";
  const bool by_id = word.starts_with(mark);
  if (!by_id) {
    auto named = store.find(word);
    if (!named || *named) return named;
  }
  const std::string_view digits = std::string_view(word).substr(by_id ? mark.size() : 0);
  const auto id = parse_number<std::int64_t>(digits);
  return id ? store.find_id(*id) : std::optional<RunRecord>();
}

/// Returns ranks with their GPUs, CPUs and NUMA nodes on one node, from plan.json.
Json binding_of(System& system, const RunDir& dir) {
  constexpr off_t most_bytes = 4 << 20;
  struct stat info {};
  if (stat(dir.plan_json().c_str(), &info) != 0 || info.st_size > most_bytes) return {};
  const auto plan_text = system.read_file(dir.plan_json());
  const auto plan = plan_text ? json_object_in(*plan_text) : Json();
  return plan.is_object() ? plan.value("binding", Json()) : Json();
}

ApiAnswer part_of_file(const ApiRequest& request, const RunDir& dir, const std::string& log) {
  constexpr std::int64_t usual = 65536;
  const auto from = number_in(request, "from", 0);
  const auto limit = number_in(request, "limit", usual);
  if (!from || !limit || *limit < 0)
    return error_answer(400, "from and limit are whole numbers of bytes");
  const auto most = static_cast<std::uint64_t>(*limit);
  auto part = log.empty() ? read_events(dir, *from, most) : read_log(dir, log, *from, most);
  if (!part)
    return part.error().kind == ErrorKind::bad_request ? not_found() : error_answer(part.error());
  return text_answer(*part, log.empty() ? "application/x-ndjson" : "text/plain; charset=utf-8");
}

}  // namespace

ApiAnswer error_answer(int status, const std::string& what) {
  return json_answer({{"error", {{"what", what}, {"hint", nullptr}}}}, status);
}

ApiAnswer error_answer(const Error& error) {
  const int status = error.kind == ErrorKind::bad_request     ? 400
                     : error.kind == ErrorKind::unsatisfiable ? 409
                     : error.kind == ErrorKind::timeout       ? 504
                                                              : 503;
  return json_answer({{"error", {{"what", error.what}, {"hint", or_null(error.hint)}}}}, status);
}

ApiAnswer Api::answer(const ApiRequest& request) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && request.method != "POST") return error_answer(405, "GET or POST");
  const auto segments = segments_of(request.path);
  if (segments.size() == 1 && reads) {
    if (segments[0].empty())
      return page_answer(replaced(page_text(), "@DRAWINGS@", drawing_style()));
    if (segments[0] == "metrics") return metrics();
  }
  if (segments.size() < 2 || segments[0] != "v1") return not_found();
  if (segments[1] == "daemon" && segments.size() == 2 && reads) return daemon();
  if (segments[1] == "daemon" && segments.size() == 3 && segments[2] == "stop") {
    if (reads) return error_answer(405, "POST");
    hooks_.stop();
    return json_answer({{"stopping", true}, {"pid", getpid()}}, 202);
  }
  if (segments[1] != "runs") return not_found();
  if (segments.size() == 2) return reads ? runs(request) : error_answer(405, "GET");
  return of_run(request, segments);
}

ApiAnswer Api::daemon() const {
  const auto snapshot = hooks_.snapshot();
  const double now_s = hooks_.now_s();
  const auto figures = process_figures(facts_.began_s, now_s);
  const auto& slurm = snapshot->slurm;
  return json_answer({{"version", std::string(version())},
                      {"pid", getpid()},
                      {"host", facts_.host},
                      {"port", facts_.port < 0 ? Json() : Json(facts_.port)},
                      {"uptime_seconds", figures.uptime_s},
                      {"cpu_seconds", figures.cpu_s},
                      {"resident_bytes", figures.resident_bytes},
                      {"open_files", figures.open_files},
                      {"interval_seconds", facts_.interval_s},
                      {"rounds", snapshot->rounds},
                      {"last_round", or_null(snapshot->at_s)},
                      {"next_round", or_null(snapshot->next_s)},
                      {"live_runs", snapshot->live.size()},
                      {"submissions", snapshot->submissions},
                      {"slurm",
                       {{"asked", slurm.asked},
                        {"answers", slurm.answers},
                        {"questions", slurm.questions},
                        {"errors", slurm.errors},
                        {"answer_seconds", slurm.answer_s},
                        {"last_error", slurm.answers ? Json() : or_null(slurm.last_error)}}}});
}

ApiAnswer Api::runs(const ApiRequest& request) {
  constexpr std::int64_t most = 1000;
  const auto limit = number_in(request, "limit", 200);
  const auto before = number_in(request, "before", 0);
  if (!limit || !before || *limit < 1 || *limit > most || *before < 0)
    return error_answer(400, fmt::format("limit is 1 to {}, before the id of a run", most));
  auto page = store_.runs(static_cast<std::size_t>(*limit), *before);
  if (!page) return error_answer(page.error());
  const auto snapshot = hooks_.snapshot();
  std::map<std::int64_t, const RunRecord*> live;
  for (const auto& run : snapshot->live) live.emplace(run.id, &run);
  Json list = Json::array();
  std::set<std::int64_t> listed;
  for (const auto& run : *page) {
    const auto moving = live.find(run.id);
    // Requests made since the last round are only in the store.
    list.push_back(to_json(
        moving == live.end() || run.wished_s > moving->second->wished_s ? run : *moving->second));
    listed.insert(run.id);
  }
  // Running runs are always on the first page.
  if (*before == 0)
    for (const auto& [id, run] : live)
      if (listed.insert(id).second) list.push_back(to_json(*run));
  const bool more = page->size() == static_cast<std::size_t>(*limit);
  return json_answer({{"runs", std::move(list)},
                      {"next", more ? Json(page->back().id) : Json()},
                      {"at", or_null(snapshot->at_s)}});
}

ApiAnswer Api::of_run(const ApiRequest& request, const std::vector<std::string>& segments) {
  auto found = find_run(store_, segments[2]);
  if (!found) return error_answer(found.error());
  if (!*found) return error_answer(404, "no such run");
  const auto& run = **found;
  const RunDir dir{.path = run.dir};
  const bool reads = request.method != "POST";
  const std::string what = segments.size() > 3 ? segments[3] : "";
  if (segments.size() == 4 && (what == "cancel" || what == "requeue" || what == "leave"))
    return reads ? error_answer(405, "POST") : wish(run, what);
  if (!reads) return error_answer(405, "GET");
  // The store still knows a run whose files are unavailable.
  if (!hooks_.answers(run.dir))
    return segments.size() == 3 ? one_run(run, /*away=*/true)
                                : error_answer(503, "the run's directory does not answer");
  if (segments.size() == 3) return one_run(run, /*away=*/false);
  if (segments.size() == 4 && what == "events") return part_of_file(request, dir, "");
  if (segments.size() == 4 && what == "curve") return curve(run);
  if (segments.size() == 4 && what == "report") return report(run);
  if (segments.size() == 4 && what == "logs") return json_answer({{"logs", log_names(dir)}});
  if (segments.size() == 5 && what == "logs") return part_of_file(request, dir, segments[4]);
  return not_found();
}

ApiAnswer Api::one_run(const RunRecord& run, bool away) {
  const auto snapshot = hooks_.snapshot();
  auto current = run;
  for (const auto& live : snapshot->live)
    if (live.id == run.id && live.wished_s >= run.wished_s) current = live;
  Json document = to_json(current);
  document["submitted"] = Json::array();
  auto submissions = store_.submissions_of(run.id, 100);
  if (submissions) {
    for (const auto& one : *submissions)
      document["submitted"].push_back({{"time", one.intended_s},
                                       {"reason", one.reason},
                                       {"state", to_string(one.state)},
                                       {"job", or_null(one.job_id)},
                                       {"words", or_null(one.message)},
                                       {"excluded", or_null(one.exclude)}});
  }
  auto files = away ? Error{ErrorKind::timeout, "the run's directory does not answer", ""}
                    : read_stored_run(system_, run.dir);
  document["files"] = files ? Json() : Json(files.error().what);
  if (files) {
    const double now_s = hooks_.now_s();
    document["binding"] = binding_of(system_, files->dir);
    auto totals = event_totals_.of(*files).value_or(RunTotals());
    auto run_state = run_state_of(*std::move(files), snapshot->queue, now_s);
    document["status"] =
        dllaunch::to_json(status_of(std::move(run_state), std::move(totals), now_s));
  }
  return json_answer(document);
}

ApiAnswer Api::curve(const RunRecord& run) const {
  constexpr std::size_t points = 240;
  const auto read = read_curve(RunDir{.path = run.dir}.events(), points);
  Json steps = Json::array();
  for (const auto& step : read.steps)
    steps.push_back(
        {step.step, or_null(step.loss), or_null(step.accuracy), or_null(step.images_per_s)});
  Json epochs = Json::array();
  for (const auto& epoch : read.epochs)
    epochs.push_back({epoch.epoch, or_null(epoch.val_loss), or_null(epoch.val_accuracy)});
  Json charts = Json::array();
  for (const auto& chart : curves_of({.steps = read.steps, .epochs = read.epochs}))
    charts.push_back({{"title", chart.title}, {"svg", draw(chart)}});
  return json_answer(
      {{"steps", std::move(steps)}, {"epochs", std::move(epochs)}, {"charts", std::move(charts)}});
}

ApiAnswer Api::report(const RunRecord& run) const {
  auto stored = read_stored_run(system_, run.dir);
  if (!stored) return error_answer(stored.error());
  const auto run_state = run_state_of(*stored, hooks_.snapshot()->queue, hooks_.now_s());
  auto record = read_run_for_page(system_, *std::move(stored));
  record.so_far = cost_so_far(system_, run_state);
  return page_answer(html_page(run_page(record)));
}

ApiAnswer Api::wish(const RunRecord& run, const std::string& what) {
  if (run.over && what != "requeue")
    return error_answer(409, "the run has already ended: " + run.state);
  if (what == "requeue" && run.launcher != "slurm")
    return error_answer(409, "it runs without Slurm: dllaunch run --run-dir starts it again");
  if (run.wish == what) return json_answer({{"accepted", what}, {"again", true}}, 202);
  auto kept = store_.wish(run.id, what, hooks_.now_s());
  if (!kept) return error_answer(kept.error());
  hooks_.wake();
  return json_answer({{"accepted", what}}, 202);
}

ApiAnswer Api::metrics() {
  auto counts = store_.counts();
  if (!counts) return error_answer(counts.error());
  const auto figures = process_figures(facts_.began_s, hooks_.now_s());
  return {.status = 200,
          .type = "text/plain; version=0.0.4; charset=utf-8",
          .body = render_metrics(*hooks_.snapshot(), *counts, figures)};
}

}  // namespace dllaunch
