#include "launcher/failures/render_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/table.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/base/wrapped_lines.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

/// "2026-12-11 10:00".
std::string day_and_minute(double unix_s) {
  auto text = slurm_time(unix_s);
  std::ranges::replace(text, 'T', ' ');
  return text.substr(0, text.rfind(':'));
}

/// By when a share of the runs that finish have done so. "never": fewer of all finish.
std::string finish_words(const RunForecast& one, double share, double elapsed_s, double now_s) {
  return one.finished < share ? "never" : day_and_minute(now_s + elapsed_s);
}

std::string nodes_words(const RecoveryRules& rules) {
  auto text = counted(rules.nodes, "node");
  if (rules.spare_nodes > 0) text += fmt::format(" + {} spare", rules.spare_nodes);
  if (rules.min_nodes > 0) text += fmt::format(", at least {}", rules.min_nodes);
  return text;
}

std::string table(const FailureForecast& forecast, double now_s) {
  std::vector<TableRow> rows;
  const auto add = [&](const char* name, auto&& words) {
    rows.push_back({name, words(forecast.run), words(forecast.plain)});
  };
  rows.push_back({"", "this job", "plain requeueing"});
  add("interruptions", [](const RunForecast& one) { return counts(one.interruptions); });
  add("effective training time", [](const RunForecast& one) { return percent(one.effective); });
  add("finish, if started now",
      [&](const RunForecast& one) { return finish_words(one, 0.5, one.elapsed_s.p50, now_s); });
  add("  9 of 10 runs by",
      [&](const RunForecast& one) { return finish_words(one, 0.9, one.elapsed_s.p90, now_s); });
  return table_text(rows, "  ");
}

std::string interval_words(const FailureForecast& forecast) {
  const auto own = time_span(forecast.run.rules.interval_s);
  if (!forecast.interval_known)
    return "best every " + own + ", which is assumed, since the job does not say";
  if (forecast.run.rules.interval_s == forecast.best.rules.interval_s)
    return "every " + own + ", which is best";
  return fmt::format("every {}; best every {}: {}", own, time_span(forecast.best.rules.interval_s),
                     percent(forecast.best.effective));
}

std::string spares_words(const FailureForecast& forecast) {
  std::string each;
  for (const auto& one : forecast.spares)
    each += fmt::format("{}{}: {:.1f} %", each.empty() ? "" : ", ", one.rules.spare_nodes,
                        100 * one.effective.mean);
  const auto words = forecast.best_spares == 0   ? std::string("none pays")
                     : forecast.best_spares == 1 ? std::string("1 pays")
                                                 : fmt::format("{} pay", forecast.best_spares);
  return fmt::format("{}{} with a queue of {} (effective with {})",
                     forecast.more_spares_may_pay ? "at least " : "", words,
                     time_span(forecast.costs.queue_s), each);
}

/// What max_restarts costs, where it does.
std::string restarts_words(const FailureForecast& forecast) {
  constexpr double least = 0.001;
  const auto& unlimited = forecast.unlimited;
  if (unlimited.effective.mean < forecast.run.effective.mean + least) return "";
  return fmt::format(
      "{:.1f} interruptions go through the queue; with recovery.max_restarts above {}: {:.1f}, {}",
      forecast.run.requeues, forecast.run.rules.max_restarts, unlimited.requeues,
      percent(unlimited.effective));
}

std::string repair_words(const FailureForecast& forecast) {
  const double share = share_in_repair(forecast.rates);
  constexpr double least = 0.0005;  // 0.1 %
  if (share < least) return "";
  return fmt::format(
      "takes {} on average: {:.1f} % of the nodes are out at a time; the wait for enough of them "
      "is not in the forecast",
      time_span(forecast.rates.repair_s), 100 * share);
}

std::string unfinished_words(const RunForecast& one, std::string_view name) {
  if (one.finished >= 1) return "";
  return fmt::format("{:.0f} % of the runs of {}: recovery gives up, or makes no progress",
                     std::ceil(100 * (1 - one.finished)), name);
}

std::string source_lines(std::string_view source) {
  constexpr std::size_t width = 78;
  std::string text;
  for (const auto& line : wrapped_lines(shown_line(source), width)) text += "  " + line + "\n";
  return text;
}

Json to_json(const Spread& one) {
  return {{"mean", one.mean}, {"p10", one.p10}, {"p50", one.p50}, {"p90", one.p90}};
}

Json to_json(const RunForecast& one, std::optional<double> now_s) {
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
  if (now_s)
    json["finish"] = {{"p10", *now_s + one.elapsed_s.p10},
                      {"p50", *now_s + one.elapsed_s.p50},
                      {"p90", *now_s + one.elapsed_s.p90}};
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

std::string costs_words(const FailureCosts& costs) {
  return fmt::format("save {}, detect {}, node_down {}, restart {}, queue {}",
                     time_span(costs.save_s), time_span(costs.detect_s),
                     time_span(costs.node_down_s), time_span(costs.restart_s),
                     time_span(costs.queue_s));
}

std::string labelled(std::string_view label, std::string_view text) {
  constexpr std::size_t label_width = 13;
  constexpr std::size_t text_width = 65;  // 80 columns together
  // No line breaks beside a number.
  constexpr char glue = '\x1f';
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  std::string glued(text);
  for (std::size_t i = 1; i + 1 < glued.size(); ++i) {
    const bool beside = is_digit(text[i - 1]) || is_digit(text[i + 1]);
    if (text[i] == ' ' && beside) glued[i] = glue;
  }
  std::string lines;
  for (auto line : wrapped_lines(glued, text_width)) {
    std::ranges::replace(line, glue, ' ');
    lines +=
        fmt::format("  {:<{}}{}\n", std::exchange(label, std::string_view()), label_width, line);
  }
  return lines;
}

std::string render_forecast(const FailureForecast& forecast, double now_s) {
  auto text = fmt::format("failures: {} of training on {}\n", time_span(forecast.work_s),
                          nodes_words(forecast.run.rules));
  text += fmt::format("{}  a node fails every {}, one of the job's every {}\n",
                      source_lines(forecast.rates.source), time_span(forecast.rates.node_mtbf_s),
                      time_span(forecast.mtbf_s));
  // Of fewer than 30 groups.
  constexpr double few = 1.0 / 30;
  if (const auto& rates = forecast.rates; rates.uncertain * rates.uncertain > few) {
    const auto [low_s, high_s] = mtbf_range(rates);
    text += fmt::format("  with so few failures it may be every {} to {} (8 of 10 cases)\n",
                        time_span(low_s), time_span(high_s));
  }
  text += "\n";
  text += table(forecast, now_s);
  text += fmt::format("  means of {} simulated runs; 8 of 10 lie within the brackets\n",
                      forecast.run.runs);
  if (forecast.run.finished < 1 || forecast.plain.finished < 1)
    text += "  times of the finish are those of the runs that finish\n";
  text += "\n";
  text += labelled("checkpoints", interval_words(forecast));
  text += labelled("spare nodes", spares_words(forecast));
  text += labelled("restarts", restarts_words(forecast));
  text += labelled("repair", repair_words(forecast));
  text += labelled("unfinished", unfinished_words(forecast.run, "this job"));
  text += labelled("unfinished", unfinished_words(forecast.plain, "plain requeueing"));
  text += labelled("assumed", costs_words(forecast.costs) + "; change with --assume KEY=TIME");
  return text;
}

Json to_json(const FailureForecast& forecast, std::optional<double> now_s) {
  Json spares = Json::array();
  for (const auto& one : forecast.spares) spares.push_back(to_json(one, now_s));
  const auto& rates = forecast.rates;
  const auto& costs = forecast.costs;
  return {{"rates",
           {{"source", rates.source},
            {"node_mtbf_s", rates.node_mtbf_s},
            {"repair_s", rates.repair_s},
            {"uneven_times", rates.uneven_times},
            {"uneven_nodes", rates.uneven_nodes},
            {"uncertain", rates.uncertain}}},
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
          {"more_spare_nodes_may_pay", forecast.more_spares_may_pay},
          {"this_job", to_json(forecast.run, now_s)},
          {"plain_requeueing", to_json(forecast.plain, now_s)},
          {"unlimited_restarts", to_json(forecast.unlimited, now_s)},
          {"best_interval", to_json(forecast.best, now_s)},
          {"spare_nodes", std::move(spares)}};
}

}  // namespace dllaunch
