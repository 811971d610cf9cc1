#include "launcher/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/table.hpp"
#include "launcher/drawing/ticks.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

bool better(const Sweep& sweep, double a, double b) {
  return sweep.minimize ? a < b : a > b;
}

/// The value at a rung; a trial that failed has none.
std::optional<double> value_at_rung(const Trial& trial, std::int64_t rung) {
  const auto found = trial.values.find(rung);
  if (trial.state == TrialState::failed || found == trial.values.end()) return std::nullopt;
  return found->second;
}

/// Trials that reached a rung, the best first; those that failed there or later are the last.
std::vector<const Trial*> standings(const Sweep& sweep, std::int64_t rung) {
  std::vector<const Trial*> reached;
  for (const Trial& trial : sweep.trials) {
    const bool failed_here = trial.state == TrialState::failed && trial.target >= rung;
    if (trial.values.contains(rung) || failed_here) reached.push_back(&trial);
  }
  std::ranges::stable_sort(reached, [&](const Trial* a, const Trial* b) {
    const auto of_a = value_at_rung(*a, rung);
    const auto of_b = value_at_rung(*b, rung);
    if (!of_a || !of_b) return of_a.has_value() && !of_b.has_value();
    return better(sweep, *of_a, *of_b);
  });
  return reached;
}

/// Of a rung, what may be promoted; `all`: nothing else can start or is running.
const Trial* to_promote(const Sweep& sweep, std::size_t rung, bool all) {
  const auto reached = standings(sweep, sweep.rungs[rung]);
  auto places = reached.size() / static_cast<std::size_t>(sweep.reduction);
  if (all && !reached.empty()) places = std::max<std::size_t>(places, 1);
  for (std::size_t i = 0; i < places; ++i)
    if (reached[i]->state == TrialState::paused && reached[i]->target == sweep.rungs[rung])
      return reached[i];
  return nullptr;
}

std::optional<NextStep> promotion(const Sweep& sweep, bool all) {
  for (std::size_t rung = sweep.rungs.size(); rung-- > 1;)
    if (const Trial* trial = to_promote(sweep, rung - 1, all))
      return NextStep{trial->number, sweep.rungs[rung]};
  return std::nullopt;
}

bool any_running(const Sweep& sweep) {
  return std::ranges::any_of(sweep.trials,
                             [](const Trial& trial) { return trial.state == TrialState::running; });
}

std::string counts_of(const Sweep& sweep) {
  std::string text =
      fmt::format("{} of {}", sweep.trials.size(), counted(sweep.most_trials, "trial"));
  for (const auto name : trial_state_names) {
    const auto many = std::ranges::count_if(
        sweep.trials, [name](const Trial& trial) { return to_string(trial.state) == name; });
    if (many > 0) text += fmt::format(", {} {}", many, name);
  }
  return text;
}

}  // namespace

std::string_view to_string(TrialState state) {
  return trial_state_names[static_cast<std::size_t>(state)];
}

std::vector<std::int64_t> rungs_of(std::int64_t min, std::int64_t max, int reduction) {
  std::vector<std::int64_t> rungs;
  for (auto rung = static_cast<double>(max); rung >= static_cast<double>(min); rung /= reduction)
    rungs.insert(rungs.begin(), std::llround(rung));
  return rungs;
}

std::optional<NextStep> next_step(const Sweep& sweep) {
  if (const auto step = promotion(sweep, false)) return step;
  const int started = static_cast<int>(sweep.trials.size());
  if (started < sweep.most_trials)
    return NextStep{started, sweep.rungs.empty() ? 0 : sweep.rungs.front()};
  return any_running(sweep) ? std::nullopt : promotion(sweep, true);
}

void ended_from_outside(Trial& trial, const std::string& why, bool got_on) {
  constexpr int most_attempts = 10;
  constexpr int most_hangs = 2;
  const auto before = std::exchange(trial.reason, why);
  trial.attempts = got_on ? 0 : trial.attempts + 1;
  const int most = why == took_too_long && before == why ? most_hangs : most_attempts;
  if (trial.attempts < most) return;
  trial.state = TrialState::failed;
  trial.reason = fmt::format("{}; started {} times in vain", why, trial.attempts);
}

void take_gpu_time(Trial& trial, const Json& summary, double gpus, std::optional<double> took_s) {
  // No less than before: its directory may have been emptied.
  if (const auto hours = value_at<std::optional<double>>(summary, "gpu_hours"))
    trial.gpu_seconds = std::max(trial.gpu_seconds, 3600 * *hours);
  else if (took_s)
    trial.gpu_seconds += gpus * value_at<double>(summary, "seconds", *took_s);
}

std::string why_over(const Sweep& sweep, const Budget& budget, double now_s) {
  if (budget.until_s && now_s >= *budget.until_s) return "sweep.until has come";
  double seconds = 0;
  for (const Trial& trial : sweep.trials) seconds += trial.gpu_seconds;
  if (budget.gpu_hours && seconds >= *budget.gpu_hours * 3600) return "sweep.gpu_hours are used up";
  return "";
}

bool is_unfinished(const Sweep& sweep) {
  return any_running(sweep) || static_cast<int>(sweep.trials.size()) < sweep.most_trials;
}

std::vector<const Trial*> ranked(const Sweep& sweep) {
  std::vector<const Trial*> all;
  for (const Trial& trial : sweep.trials) all.push_back(&trial);
  std::ranges::stable_sort(all, [&](const Trial* a, const Trial* b) {
    const auto of_a = a->state == TrialState::failed ? std::nullopt : a->value();
    const auto of_b = b->state == TrialState::failed ? std::nullopt : b->value();
    if (!of_a || !of_b) return of_a.has_value() && !of_b.has_value();
    return better(sweep, *of_a, *of_b);
  });
  return all;
}

const Trial* best_of(const Sweep& sweep) {
  const auto all = ranked(sweep);
  const bool any = !all.empty() && all.front()->state != TrialState::failed && all.front()->value();
  return any ? all.front() : nullptr;
}

Json to_json(const Sweep& sweep) {
  Json trials = Json::array();
  for (const Trial& trial : sweep.trials) {
    trials.push_back({{"number", trial.number},
                      {"parameters", trial.parameters},
                      {"state", to_string(trial.state)},
                      {"value", or_null(trial.value())},
                      {"epochs", trial.epochs()},
                      {"run", trial.run},
                      {"reason", trial.reason}});
  }
  Json best;
  if (const Trial* trial = best_of(sweep)) {
    best = {{"number", trial->number},
            {"value", *trial->value()},
            {"parameters", trial->parameters},
            {"run", trial->run}};
  }
  return {{"name", sweep.name},
          {"metric", sweep.metric},
          {"direction", sweep.minimize ? "minimize" : "maximize"},
          {"most_trials", sweep.most_trials},
          {"job", sweep.job},
          {"best", best},
          {"trials", trials}};
}

Sweep read_sweep(const Json& document) {
  Sweep sweep{.name = value_at<std::string>(document, "name"),
              .metric = value_at<std::string>(document, "metric"),
              .minimize = value_at<std::string>(document, "direction") == "minimize",
              .most_trials = value_at<int>(document, "most_trials"),
              .job = value_at<std::string>(document, "job")};
  if (!document.contains("trials") || !document["trials"].is_array()) return sweep;
  for (const Json& one : document["trials"]) {
    if (!one.is_object()) continue;
    Trial trial{.number = value_at<int>(one, "number"),
                .run = value_at<std::string>(one, "run"),
                .reason = value_at<std::string>(one, "reason")};
    if (one.contains("parameters") && one["parameters"].is_object())
      trial.parameters = one["parameters"];
    const auto state = value_at<std::string>(one, "state");
    const auto known = std::ranges::find(trial_state_names, state);
    if (known == std::end(trial_state_names)) continue;
    trial.state = static_cast<TrialState>(known - std::begin(trial_state_names));
    if (const auto value = value_at<std::optional<double>>(one, "value"))
      trial.values[value_at<std::int64_t>(one, "epochs")] = *value;
    sweep.trials.push_back(std::move(trial));
  }
  return sweep;
}

std::string shown_parameters(const Json& parameters) {
  std::string text;
  for (const auto& [key, value] : parameters.items()) {
    const auto shown = value.is_number_float() ? short_number(value.get<double>())
                       : value.is_string()     ? value.get<std::string>()
                                               : value.dump();
    text += fmt::format("{}{}={}", text.empty() ? "" : " ",
                        shown_line(key.substr(key.rfind('.') + 1)), shown_line(shown));
  }
  return text;
}

std::string render_sweep(const Sweep& sweep, std::size_t most_rows) {
  std::vector<TableRow> rows = {
      {"trial", "state", shown_line(sweep.metric), "epochs", "parameters"}};
  const auto all = ranked(sweep);
  for (const Trial* trial : all) {
    if (rows.size() > most_rows) break;
    const auto value = trial->value();
    rows.push_back({std::to_string(trial->number), std::string(to_string(trial->state)),
                    value ? short_number(*value, 5) : "-", std::to_string(trial->epochs()),
                    shown_parameters(trial->parameters)});
    if (!trial->reason.empty()) rows.back().back() += "  " + shown_line(trial->reason);
  }
  std::string text = fmt::format("{}: {}\n", shown_line(sweep.name), counts_of(sweep));
  if (all.empty()) return text;
  text += table_text(rows);
  if (all.size() > most_rows)
    text += fmt::format("and {} more: sweep.json\n", all.size() - most_rows);
  return text;
}

}  // namespace dllaunch
