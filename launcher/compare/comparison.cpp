#include "launcher/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "launcher/accounting/books.hpp"
#include "launcher/base/format.hpp"
#include "launcher/base/secrets.hpp"
#include "launcher/run/books.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {

template <typename Field>
void visit_fields(Field& field, ComparedEpoch& epoch) {
  field("epoch", epoch.epoch);
  field("wall_s", epoch.wall_s);
  field("loss", epoch.loss);
  field("accuracy", epoch.accuracy);
  field("val_loss", epoch.val_loss);
  field("val_accuracy", epoch.val_accuracy);
  field("images_per_s", epoch.images_per_s);
}

template <typename Field>
void visit_fields(Field& field, ComparedSize& size) {
  field("ranks", size.ranks);
  field("value", size.value);
  field("low", size.low);
  field("high", size.high);
  field("efficiency", size.efficiency);
}

namespace {

constexpr std::string_view kind_names[] = {"run", "study", "sweep"};

void tell_apart(std::vector<ComparedRun>& runs) {
  std::set<std::string> taken;
  for (ComparedRun& run : runs) {
    const std::string name = run.label.empty() ? "run" : run.label;
    run.label = name;
    for (int number = 2; !taken.insert(run.label).second; ++number)
      run.label = fmt::format("{} ({})", name, number);
  }
}

std::string duration_text(double seconds) {
  return seconds < 60 ? fmt::format("{:.1f} s", seconds) : clock_time(seconds);
}

std::string value_text(const ComparedRun& run) {
  if (!run.value) return "";
  const auto number = *run.value >= 100 ? rate(*run.value) : fmt::format("{:.4g}", *run.value);
  return run.unit.empty() ? number : number + " " + run.unit;
}

std::string last_text(const ComparedRun& run, std::optional<double> ComparedEpoch::*member) {
  for (auto epoch = run.epochs.rbegin(); epoch != run.epochs.rend(); ++epoch)
    if (const auto& value = (*epoch).*member) return fmt::format("{:.4g}", *value);
  return "";
}

std::string reached_text(const ComparedRun& run, TargetKind kind,
                         const std::optional<TargetReached>& reached) {
  if (!has_values(run, kind)) return "";
  if (!reached) return "not reached";
  return fmt::format("{}, epoch {}", duration_text(reached->wall_s), reached->epoch);
}

/// Why a value that was asked for has no time in some runs; empty: it has, or was not reached.
std::string lack_of(const std::vector<ComparedRun>& runs, TargetKind kind, bool compared) {
  std::vector<std::string_view> without;
  for (const ComparedRun& run : runs)
    if (!has_values(run, kind)) without.push_back(run.label);
  const auto name = name_of(kind);
  if (without.size() == runs.size()) return fmt::format("no run has a value of {}", name);
  if (!compared)
    return fmt::format("some runs have {0} of the training only, others of the validation only",
                       name);
  return without.empty() ? ""
                         : fmt::format("without a value of {}: {}", name, fmt::join(without, ", "));
}

/// The record of its newest start; null where it does not say.
Json json_of_origin(const ComparedRun& run) {
  const auto& origin = run.origin;
  const auto* code = origin && origin->code ? &*origin->code : nullptr;
  const auto known = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  return {{"submitted_from", origin ? known(origin->host) : Json()},
          {"dllaunch", origin ? known(origin->dllaunch) : Json()},
          {"revision", code != nullptr ? known(code->revision) : Json()},
          {"branch", code != nullptr ? known(code->branch) : Json()},
          {"uncommitted_changes", code != nullptr ? json_of(code->dirty) : Json()}};
}

/// A row for each figure that book_words() has of one of the runs. It has no word for what a run
/// did not use at all.
void add_books(const std::vector<ComparedRun>& runs, std::vector<FigureRow>& rows) {
  std::map<std::string, std::size_t> places;
  const std::size_t first = rows.size();
  for (std::size_t run = 0; run < runs.size(); ++run) {
    for (auto& [name, words] : book_words(runs[run].summary)) {
      const auto [place, is_new] = places.emplace(name, rows.size());
      if (is_new) rows.push_back({.name = name, .cells = std::vector<std::string>(runs.size())});
      rows[place->second].cells[run] = std::move(words);
    }
  }
  for (std::size_t row = first; row < rows.size(); ++row)
    for (std::size_t run = 0; run < runs.size(); ++run)
      if (auto& cell = rows[row].cells[run]; cell.empty())
        cell = book_words(runs[run].summary).empty() ? "unknown" : "0";
}

/// Of one shape, whatever the summary says.
Json json_of_books(const Json& summary) {
  auto books = books_in(summary);
  const bool known = summary.is_object() && summary.contains("core_hours");
  books["submissions"] = known ? Json(value_at<std::int64_t>(summary, "submissions", 1)) : Json();
  return books;
}

Json json_of_run(const ComparedRun& run) {
  Json epochs = Json::array();
  for (const auto& epoch : run.epochs) epochs.push_back(write_fields(epoch));
  Json sizes = Json::array();
  for (const auto& size : run.sizes) sizes.push_back(write_fields(size));
  return {{"label", run.label},
          {"path", run.path},
          {"kind", kind_names[static_cast<std::size_t>(run.kind)]},
          {"run", run.run.empty() ? run.path : run.run},
          {"state", run.state},
          {"ranks", run.ranks},
          {"nodes", run.nodes},
          {"hosts", run.hosts.empty() ? Json() : Json(run.hosts)},
          {"hardware", run.hardware.empty() ? Json() : Json(run.hardware)},
          {"origin", json_of_origin(run)},
          {"value", json_of(run.value)},
          {"unit", run.unit},
          {"goodput", json_of(run.goodput)},
          {"restarts", json_of(run.restarts)},
          {"seconds", json_of(run.seconds)},
          {"books", json_of_books(run.summary)},
          {"epochs", epochs},
          {"sizes", sizes},
          {"left_out_variables", run.origin ? json_of(run.origin->left_out) : Json::array()},
          {"notes", run.notes}};
}

Json json_of_target(const Target& target) {
  Json reached = Json::array();
  for (const auto& one : target.reached)
    reached.push_back(one ? Json{{"seconds", one->wall_s}, {"epoch", one->epoch}} : Json());
  return {{"of", name_of(target.kind)},
          {"images", target.validation ? "validation" : "training"},
          {"value", target.value},
          {"reached", reached}};
}

Json json_of_differences(const std::vector<DifferenceGroup>& groups) {
  Json all = Json::object();
  for (const auto& group : groups) {
    Json rows = Json::array();
    for (const auto& row : group.rows) {
      Json values = Json::array();
      for (const auto& value : row.values) values.push_back(json_of(value));
      rows.push_back({{"name", row.name}, {"values", values}});
    }
    all[group.id] = rows;
  }
  return all;
}

}  // namespace

Comparison compare_runs(std::vector<ComparedRun> runs, std::vector<LeftOutRun> left_out,
                        const TargetsWanted& wanted) {
  tell_apart(runs);
  Comparison all{.left_out = std::move(left_out), .differences = differences_of(runs)};
  for (const auto& [kind, value] : {std::pair(TargetKind::loss, wanted.loss),
                                    std::pair(TargetKind::accuracy, wanted.accuracy)}) {
    auto target = target_of(runs, kind, value);
    if (const auto why = value ? lack_of(runs, kind, target.has_value()) : ""; !why.empty())
      all.notes.push_back(fmt::format("--{} {}: {}", name_of(kind), *value, why));
    if (target) all.targets.push_back(*std::move(target));
  }
  all.runs = std::move(runs);
  return all;
}

std::vector<FigureRow> figure_rows(const Comparison& comparison) {
  std::vector<FigureRow> rows;
  const auto add = [&](std::string name, auto cell_of) {
    FigureRow row{.name = std::move(name)};
    for (const ComparedRun& run : comparison.runs) row.cells.push_back(cell_of(run));
    const bool any = std::ranges::any_of(row.cells, [](const auto& cell) { return !cell.empty(); });
    if (any) rows.push_back(std::move(row));
  };
  using Run = const ComparedRun&;
  add("state", [](Run run) { return run.state; });
  add("ranks", [](Run run) { return std::to_string(run.ranks); });
  add("nodes", [](Run run) { return std::to_string(run.nodes); });
  add("throughput", value_text);
  add("epochs",
      [](Run run) { return run.epochs.empty() ? "" : std::to_string(run.epochs.back().epoch); });
  for (const auto& [name, member] :
       {std::pair("training loss, last", &ComparedEpoch::loss),
        std::pair("validation loss, last", &ComparedEpoch::val_loss),
        std::pair("training accuracy, last", &ComparedEpoch::accuracy),
        std::pair("validation accuracy, last", &ComparedEpoch::val_accuracy)})
    add(name, [which = member](Run run) { return last_text(run, which); });
  for (const Target& target : comparison.targets) {
    std::size_t at = 0;
    add("time to " + target_words(target),
        [&](Run run) { return reached_text(run, target.kind, target.reached[at++]); });
  }
  add("goodput", [](Run run) {
    return run.goodput ? fmt::format("{:.0f} %", 100 * *run.goodput) : std::string();
  });
  add("restarts", [](Run run) { return run.restarts ? std::to_string(*run.restarts) : ""; });
  add("wall time", [](Run run) { return run.seconds ? duration_text(*run.seconds) : ""; });
  add_books(comparison.runs, rows);
  return rows;
}

Json to_json(const Comparison& comparison) {
  Json runs = Json::array();
  for (const auto& run : comparison.runs) runs.push_back(json_of_run(run));
  Json targets = Json::array();
  for (const auto& target : comparison.targets) targets.push_back(json_of_target(target));
  Json left_out = Json::array();
  for (const auto& one : comparison.left_out)
    left_out.push_back({{"query", one.query}, {"why", one.why}});
  return {{"runs", runs},
          {"targets", targets},
          {"differences", json_of_differences(comparison.differences)},
          {"left_out", left_out},
          {"notes", comparison.notes}};
}

}  // namespace dllaunch
