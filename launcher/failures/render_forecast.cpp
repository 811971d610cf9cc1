#include "launcher/failures/render_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/table.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

/// "2026-12-11 10:00".
std::string day_and_hour(double unix_s) {
  auto text = slurm_time(unix_s);
  std::ranges::replace(text, 'T', ' ');
  return text.substr(0, text.rfind(':'));
}

/// "2026-12-12 00:33 (12-11 17:58 to 12-12 10:39)".
std::string finish_words(const RunForecast& one, double now_s) {
  if (one.finished <= 0) return "never";
  constexpr std::size_t year = 5;
  return fmt::format("{} ({} to {})", day_and_hour(now_s + one.elapsed_s.p50),
                     day_and_hour(now_s + one.elapsed_s.p10).substr(year),
                     day_and_hour(now_s + one.elapsed_s.p90).substr(year));
}

std::string nodes_words(const RecoveryRules& rules) {
  auto text = counted(rules.nodes, "node");
  if (rules.spare_nodes > 0) text += fmt::format(" + {} spare", rules.spare_nodes);
  if (rules.min_nodes > 0) text += fmt::format(", at least {}", rules.min_nodes);
  return text;
}

std::string table(const FailureForecast& forecast, double now_s) {
  std::vector<TableRow> rows = {
      {"", "interruptions", "effective training time", "finish, if it starts now"}};
  const auto add = [&](const char* name, const RunForecast& one) {
    rows.push_back(
        {name, counts(one.interruptions), percent(one.effective), finish_words(one, now_s)});
  };
  add("this job", forecast.run);
  add("requeued whole", forecast.plain);
  return table_text(rows, "  ");
}

std::string interval_line(const FailureForecast& forecast) {
  const auto& run = forecast.run;
  if (!forecast.interval_known)
    return fmt::format(
        "  checkpoints  best is each {}; taken for granted, since the job does not say\n",
        time_span(run.rules.interval_s));
  if (run.rules.interval_s == forecast.best.rules.interval_s)
    return fmt::format("  checkpoints  each {}, which is best\n", time_span(run.rules.interval_s));
  return fmt::format("  checkpoints  each {}; best is each {}: {}\n",
                     time_span(run.rules.interval_s), time_span(forecast.best.rules.interval_s),
                     percent(forecast.best.effective));
}

std::string spares_line(const FailureForecast& forecast) {
  std::string each;
  for (const auto& one : forecast.spares)
    each += fmt::format("{}{}: {:.1f} %", each.empty() ? "" : ", ", one.rules.spare_nodes,
                        100 * one.effective.mean);
  const auto words = forecast.best_spares == 0   ? std::string("none pays")
                     : forecast.best_spares == 1 ? std::string("1 pays")
                                                 : fmt::format("{} pay", forecast.best_spares);
  return fmt::format("  spare nodes  {}, at a queue of {} ({})\n", words,
                     time_span(forecast.costs.queue_s), each);
}

/// What max_restarts costs, where it does.
std::string restarts_line(const FailureForecast& forecast) {
  constexpr double least = 0.001;
  const auto& unlimited = forecast.unlimited;
  if (unlimited.effective.mean < forecast.run.effective.mean + least) return "";
  return fmt::format(
      "  restarts     {:.1f} interruptions go through the queue; with "
      "recovery.max_restarts above {}: {:.1f},\n               {}\n",
      forecast.run.requeues, forecast.run.rules.max_restarts, unlimited.requeues,
      percent(unlimited.effective));
}

std::string repair_line(const FailureForecast& forecast) {
  const double share = share_in_repair(forecast.rates);
  if (share <= 0) return "";
  return fmt::format(
      "  repair       takes {} on average: {:.1f} % of the nodes are out at a time; "
      "the wait for enough\n               of them is not in the forecast\n",
      time_span(forecast.rates.repair_s), 100 * share);
}

std::string unfinished_line(const RunForecast& one, std::string_view name) {
  if (one.finished >= 1) return "";
  return fmt::format(
      "  {:.0f} % of the runs {} do not finish: recovery gives up, or they come no "
      "further\n",
      100 * (1 - one.finished), name);
}

Json to_json(const Spread& one) {
  return {{"mean", one.mean}, {"p10", one.p10}, {"p50", one.p50}, {"p90", one.p90}};
}

Json to_json(const RunForecast& one, double now_s) {
  Json json = {{"spare_nodes", one.rules.spare_nodes},
               {"interval_s", one.rules.interval_s},
               {"interruptions", to_json(one.interruptions)},
               {"effective_training_time", to_json(one.effective)},
               {"elapsed_s", nullptr},
               {"finish", nullptr},
               {"node_hours", one.node_s / 3600},
               {"requeues", one.requeues},
               {"finished", one.finished},
               {"runs", one.runs}};
  if (one.finished <= 0) return json;
  json["elapsed_s"] = to_json(one.elapsed_s);
  json["finish"] = {{"p10", now_s + one.elapsed_s.p10},
                    {"p50", now_s + one.elapsed_s.p50},
                    {"p90", now_s + one.elapsed_s.p90}};
  return json;
}

}  // namespace

std::string percent(const Spread& share) {
  return fmt::format("{:.1f} % ({:.1f} to {:.1f})", 100 * share.mean, 100 * share.p10,
                     100 * share.p90);
}

std::string counts(const Spread& counts) {
  return fmt::format("{:.1f} ({:.0f} to {:.0f})", counts.mean, counts.p10, counts.p90);
}

std::string render_forecast(const FailureForecast& forecast, double now_s) {
  const auto& costs = forecast.costs;
  auto text =
      fmt::format("failures: {} of training on {}, {} simulated runs; in brackets 8 of 10\n",
                  time_span(forecast.work_s), nodes_words(forecast.run.rules), forecast.run.runs);
  text += fmt::format("  {}\n  a node fails every {}, one of the job's every {}\n\n",
                      shown_line(forecast.rates.source), time_span(forecast.rates.node_mtbf_s),
                      time_span(forecast.mtbf_s));
  text += table(forecast, now_s) + "\n";
  text += interval_line(forecast) + spares_line(forecast) + restarts_line(forecast) +
          repair_line(forecast);
  text += unfinished_line(forecast.run, "of this job");
  text += unfinished_line(forecast.plain, "requeued whole");
  text += fmt::format(
      "  assumed      save {}, detect {}, node_down {}, restart {}, queue {}; "
      "--assume KEY=TIME\n",
      time_span(costs.save_s), time_span(costs.detect_s), time_span(costs.node_down_s),
      time_span(costs.restart_s), time_span(costs.queue_s));
  return text;
}

Json to_json(const FailureForecast& forecast, double now_s) {
  Json spares = Json::array();
  for (const auto& one : forecast.spares) spares.push_back(to_json(one, now_s));
  const auto& rates = forecast.rates;
  const auto& costs = forecast.costs;
  return {{"rates",
           {{"source", rates.source},
            {"node_mtbf_s", rates.node_mtbf_s},
            {"repair_s", rates.repair_s},
            {"uneven_times", rates.uneven_times},
            {"uneven_nodes", rates.uneven_nodes}}},
          {"assumed",
           {{"work_s", forecast.work_s},
            {"save_s", costs.save_s},
            {"detect_s", costs.detect_s},
            {"node_down_s", costs.node_down_s},
            {"restart_s", costs.restart_s},
            {"queue_s", costs.queue_s}}},
          {"job_mtbf_s", forecast.mtbf_s},
          {"interval_known", forecast.interval_known},
          {"best_interval_s", forecast.best.rules.interval_s},
          {"best_spare_nodes", forecast.best_spares},
          {"this_job", to_json(forecast.run, now_s)},
          {"requeued_as_a_whole", to_json(forecast.plain, now_s)},
          {"unlimited_restarts", to_json(forecast.unlimited, now_s)},
          {"best_interval", to_json(forecast.best, now_s)},
          {"spare_nodes", std::move(spares)}};
}

}  // namespace dllaunch
