#include "launcher/monitor/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <string_view>
#include <utility>

#include "launcher/accounting/books.hpp"
#include "launcher/base/format.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/history.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/run_size.hpp"
#include "launcher/run/summary.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

const Json& at(const Json& object, std::string_view key) {
  static const Json nothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nothing : *found;
}

std::string number(const Json& value, std::string_view form) {
  return value.is_number() ? fmt::format(fmt::runtime(form), value.get<double>()) : "";
}

std::string count(const Json& value, std::string_view noun) {
  return value.is_number_integer() ? counted(value.get<std::int64_t>(), noun) : "";
}

std::string text_in(const Json& value) {
  return value.is_string() ? shown_line(value.get<std::string>()) : "";
}

void append(std::string& line, const std::string& part) {
  if (!part.empty()) line += (line.empty() ? "" : ", ") + part;
}

/// "  Slurm jobs 7, 9 on n[1-2]"; empty for a local run without ranks.
std::string place_line(const RunPlaces& places) {
  std::string line;
  if (!places.jobs.empty())
    line = fmt::format("Slurm job{} {}", places.jobs.size() == 1 ? "" : "s",
                       fmt::join(places.jobs, ", "));
  if (!places.nodes.empty()) line += (line.empty() ? "on " : " on ") + places.nodes;
  std::string text = line.empty() ? "" : "  " + shown_line(line) + "\n";
  if (!places.network.empty()) text += "  " + shown_line(places.network) + "\n";
  if (!places.sizes.empty()) text += "  " + places.sizes + "\n";
  for (const auto& words : places.corrupted) text += "  " + shown_line(words) + "\n";
  return text;
}

/// "  core-hours 4, GPU-hours 1"; empty: no words.
std::string cost_line(const std::vector<std::pair<std::string, std::string>>& all,
                      std::string_view before = "") {
  std::string cost;
  for (const auto& [name, words] : all) append(cost, name + " " + shown_line(words));
  return cost.empty() ? "" : fmt::format("  {}{}\n", before, cost);
}

std::string summary_lines(const StoredRun& run, const RunPlaces& places, const Json& so_far) {
  const Json& summary = run.summary;
  std::string text = shown_line(run.dir.path) + "\n" + place_line(places);
  if (summary.is_null())
    return text + "  no summary yet; see dllaunch status\n" +
           cost_line(hour_words(so_far), "so far: ");
  std::string line;
  append(line, text_in(at(summary, "status")));
  const std::string planned = count(at(summary, "planned_ranks"), "rank");
  append(line, planned.empty() ? count(at(summary, "ranks"), "rank")
                               : number(at(summary, "ranks"), "{:.0f}") + " of " + planned);
  append(line, count(at(summary, "epochs"), "epoch"));
  append(line, number(at(summary, "seconds"), "{:.1f} s"));
  append(line, number(at(summary, "val_accuracy"), "val_accuracy {:.4f}"));
  append(line, number(at(summary, "val_perplexity"), "val_perplexity {:.4g}"));
  const std::string what = at(summary, "tokens_per_s").is_number() ? "tokens" : "images";
  if (const Json& per_s = at(summary, (what + "_per_s").c_str()); per_s.is_number()) {
    const Json& excluded = at(summary, "first_epoch_excluded");
    append(line, excluded.is_boolean() ? throughput(per_s.get<double>(), excluded.get<bool>(), what)
                                       : fmt::format("{} {}/s", rate(per_s.get<double>()), what));
  }
  if (at(summary, "goodput").is_number())
    append(line, fmt::format("goodput {:.0f} %", 100 * at(summary, "goodput").get<double>()));
  text += "  " + line + "\n";
  text += cost_line(book_words(summary));
  for (const char* key : {"reason", "first_error", "advice"}) {
    const std::string value = text_in(at(summary, key));
    if (!value.empty()) text += "  " + value + "\n";
  }
  return text;
}

struct Column {
  const char* key;
  const char* title;
};
constexpr std::array<Column, 8> columns = {{{"data", "data"},
                                            {"forward", "forward"},
                                            {"backward", "backward"},
                                            {"update", "update"},
                                            {"between", "between"},
                                            {"communication", "comm"},
                                            {"waiting", "waiting"},
                                            {"delayed", "waited for"}}};

template <typename Value>
std::string row(const std::string& title, Value value) {
  std::string line = fmt::format("  {:<22}", title);
  for (const Column& column : columns) {
    const std::size_t width = std::string_view(column.title).size();
    line += fmt::format("  {:>{}}", value(column), std::max<std::size_t>(width, 7));
  }
  return line + "\n";
}

std::string ranks_table(const Json& ranks) {
  std::string text =
      fmt::format("\nseconds of epoch {} on {}\n", number(at(ranks, "epoch"), "{:.0f}"),
                  count(at(ranks, "ranks"), "rank"));
  text += row("", [](const Column& column) { return std::string(column.title); });
  const Json& listed = at(ranks, "slowest");
  const bool all = listed.is_array() && at(ranks, "ranks") == Json(listed.size());
  if (!all) {
    constexpr std::array names = {"least", "5 %", "median", "95 %", "most"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      text += row(names[i], [&](const Column& column) {
        const Json& values = at(at(ranks, "seconds"), column.key);
        return values.is_array() && i < values.size() ? number(values[i], "{:.3f}") : "";
      });
    }
  }
  for (std::size_t i = 0; listed.is_array() && i < listed.size(); ++i) {
    const Json& rank = listed[i];
    const std::string name =
        fmt::format("rank {} on {}", number(at(rank, "rank"), "{:.0f}"), text_in(at(rank, "host")));
    text += row(name, [&](const Column& column) { return number(at(rank, column.key), "{:.3f}"); });
  }
  return text;
}

}  // namespace

Json last_ranks_event(const std::string& events_path) {
  struct Told {
    std::int64_t step = 0;  // step before the report
    std::string line;
  };
  constexpr std::size_t most_kept = 64;
  std::deque<Told> told;
  History history;
  const auto take = [&](std::string line) {
    const auto event = parse_event(line);
    if (!event || !history.take(*event)) return;
    while (!told.empty() && told.back().step > history.step()) told.pop_back();
    if (!std::holds_alternative<RanksEvent>(*event)) return;
    told.push_back({history.step(), std::move(line)});
    if (told.size() > most_kept) told.pop_front();
  };
  for_each_line(events_path, take);
  return told.empty() ? Json() : json_object_in(told.back().line);
}

RunPlaces places_of(const StoredRun& run) {
  RunPlaces places{.jobs = {}, .nodes = hosts_of_ranks(run.dir)};
  const auto journal = read_journal(run.dir);
  for (const auto& found : journal.corruptions) places.corrupted.push_back(found.line);
  if (run.job_id.empty()) return places;
  const auto add = [&](const std::string& job) {
    const bool known = std::ranges::find(places.jobs, job) != places.jobs.end();
    if (!job.empty() && !known) places.jobs.push_back(job);
  };
  for (const auto& attempt : journal.history) add(attempt.job);
  if (journal.nodes) places.network = words_of(*journal.nodes);
  places.sizes = change_words(run.plan, sizes_in(journal, run.plan, run.job_id));
  add(run.job_id);
  return places;
}

Json cost_so_far(System& system, const RunState& run_state) {
  const bool runs = run_state.state == "running" || run_state.state == "suspended" ||
                    run_state.state == "completing";
  if (!runs || !run_state.run.summary.is_null()) return {};
  return all_hours_so_far(system, run_state.run, run_state.seconds.value_or(0));
}

std::string render_run_report(const StoredRun& run, const RunPlaces& places, const Json& ranks,
                              const Json& so_far) {
  std::string text = summary_lines(run, places, so_far);
  if (!ranks.is_object()) return text;
  text += ranks_table(ranks);
  const Json& notes = at(ranks, "notes");
  for (std::size_t i = 0; notes.is_array() && i < notes.size(); ++i) {
    text += "  " + text_in(notes[i]) + "\n";
  }
  if (notes.is_array() && notes.empty()) text += "  no rank held up the others\n";
  return text;
}

}  // namespace dllaunch
