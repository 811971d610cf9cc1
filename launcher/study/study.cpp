#include "launcher/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "launcher/base/format.hpp"
#include "launcher/base/table.hpp"
#include "launcher/report/rank_times.hpp"
#include "launcher/study/measured_exchange.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {

template <typename Field>
void visit_fields(Field& field, StudyRun& run) {
  constexpr int most = 1 << 24;
  field("ranks", within(run.ranks, 1, most));
  field("nodes", within(run.nodes, 1, most));
  field("repeat", within(run.repeat, 1, most));
  field("run", run.run);
  field("state", run.state);
  field("reason", run.reason);
  field("value", run.value);
  field("epoch_s", run.epoch_s);
  field("parts", run.parts);
  field("global_batch", run.global_batch);
  field("gradient_bytes", run.gradient_bytes);
  field("communicator", run.communicator);
}

namespace {

/// The time of the same piece of work, up to a constant: what the fit is of.
double time_of(const Study& study, double value, int ranks) {
  if (study.lower_is_better) return value;
  return (study.scaling == Scaling::weak ? ranks : 1) / value;
}

double value_of(const Study& study, double time, int ranks) {
  return study.lower_is_better ? time : (study.scaling == Scaling::weak ? ranks : 1) / time;
}

bool counts(const StudyRun& run) {
  return run.value && std::isfinite(*run.value) && *run.value > 0;
}

/// Runs with a value, by ranks.
std::map<int, std::vector<const StudyRun*>> runs_by_size(const Study& study) {
  std::map<int, std::vector<const StudyRun*>> sizes;
  for (const StudyRun& run : study.runs)
    if (counts(run)) sizes[run.ranks].push_back(&run);
  return sizes;
}

StudyPoint point_of(const std::vector<const StudyRun*>& runs) {
  StudyPoint point{.ranks = runs.front()->ranks,
                   .nodes = runs.front()->nodes,
                   .repeats = static_cast<int>(runs.size())};
  std::vector<double> values;
  std::vector<double> epochs;
  for (const StudyRun* run : runs) {
    values.push_back(*run->value);
    if (run->epoch_s) epochs.push_back(*run->epoch_s);
    if (run->parts.size() != rank_parts.size()) continue;
    point.parts.resize(rank_parts.size());
    for (std::size_t i = 0; i < rank_parts.size(); ++i)
      point.parts[i] += run->parts[i] / static_cast<double>(runs.size());
  }
  point.value = median(values);
  point.low = std::ranges::min(values);
  point.high = std::ranges::max(values);
  if (!epochs.empty()) point.epoch_s = median(epochs);
  return point;
}

std::vector<SizeTimes> times_of(const Study& study) {
  std::vector<SizeTimes> all;
  for (const auto& [ranks, runs] : runs_by_size(study)) {
    SizeTimes size{.ranks = ranks};
    for (const StudyRun* run : runs) size.times.push_back(time_of(study, *run->value, ranks));
    all.push_back(std::move(size));
  }
  return all;
}

/// How much faster `time` on `ranks` is than `base_time` on `base`: 1 at the base.
double speedup(const Study& study, double base_time, int base, double time, int ranks) {
  const double work = study.scaling == Scaling::weak ? static_cast<double>(ranks) / base : 1;
  return work * base_time / time;
}

void add_fit(const Study& study, StudyResult& result) {
  const auto sizes = times_of(study);
  if (sizes.size() < 2) return;
  const auto& base = result.points.front();
  const auto exchange = measured_exchange(study);
  const ExchangeTime measured = exchange ? exchange->time : ExchangeTime();
  result.fit = fit_scaling(sizes, study.scaling, measured);
  const double base_time = result.fit->at(base.ranks);
  const auto efficiency_at = [&](std::int64_t ranks, double time) {
    return speedup(study, base_time, base.ranks, time, static_cast<int>(ranks)) * base.ranks /
           static_cast<double>(ranks);
  };
  const int largest = result.points.back().ranks;
  const std::vector<int> at = {2 * largest, 4 * largest, 8 * largest};
  for (const Prediction& one : predict(sizes, study.scaling, at, measured)) {
    const double low = value_of(study, one.high, one.ranks);
    const double high = value_of(study, one.low, one.ranks);
    result.predictions.push_back({.ranks = one.ranks,
                                  .value = value_of(study, one.time, one.ranks),
                                  .low = std::min(low, high),
                                  .high = std::max(low, high),
                                  .efficiency = efficiency_at(one.ranks, one.time)});
  }
  // Efficiency falls with the number of ranks: halve the interval, in steps of the smallest size.
  const auto good = [&](std::int64_t steps) {
    const auto ranks = static_cast<int>(steps * base.ranks);
    return efficiency_at(ranks, result.fit->at(ranks)) >= study.efficiency - 1e-9;
  };
  std::int64_t low = 1;
  std::int64_t high = 64LL * largest / base.ranks;
  if (good(high)) return;
  while (high - low > 1) {
    const auto middle = (low + high) / 2;
    (good(middle) ? low : high) = middle;
  }
  int worth_it = static_cast<int>(low * base.ranks);
  // Beyond a node, nodes are full of ranks.
  const StudyPoint& last = result.points.back();
  const int of_node = last.ranks / last.nodes;
  if (last.nodes > 1 && worth_it > of_node) worth_it -= worth_it % of_node;
  result.worth_it = std::max(worth_it, base.ranks);
}

Json json_of_fit(const Study& study, const ScalingFit& fit) {
  const auto exchange = measured_exchange(study);
  const char* form = fit.measured ? "x m(p)" : "e g(p)";
  return {
      {"model", fmt::format("s + {}{}", fit.scaling == Scaling::strong ? "w / p + " : "", form)},
      {"g", fit.measured ? "m(p)"
            : fit.linear ? "p - 1"
                         : "log2 p"},
      {"exchange_from", fit.measured ? "bench allreduce" : "times"},
      {"allreduce", exchange ? Json{{"communicator", study.allreduce->model.communicator},
                                    {"bytes", exchange->bytes},
                                    {"ranks", exchange->ranks},
                                    {"us", exchange->us}}
                             : Json()},
      {"serial", fit.serial},
      {"parallel", fit.parallel},
      {"exchange", fit.exchange},
      {"residual", fit.residual}};
}

Json json_of_parts(const std::vector<double>& parts) {
  if (parts.empty()) return nullptr;
  Json object = Json::object();
  for (std::size_t i = 0; i < rank_parts.size(); ++i) object[std::string(rank_parts[i])] = parts[i];
  return object;
}

std::string value_text(double value) {
  return value >= 100 ? rate(value) : fmt::format("{:.4g}", value);
}

}  // namespace

std::string percent_text(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

StudyResult result_of(const Study& study) {
  StudyResult result;
  for (const auto& [ranks, runs] : runs_by_size(study)) result.points.push_back(point_of(runs));
  if (result.points.empty()) return result;
  const StudyPoint base = result.points.front();
  for (StudyPoint& point : result.points) {
    point.speedup = speedup(study, time_of(study, base.value, base.ranks), base.ranks,
                            time_of(study, point.value, point.ranks), point.ranks);
    point.efficiency = point.speedup * base.ranks / point.ranks;
  }
  result.spread = relative_spread(times_of(study));
  add_fit(study, result);
  return result;
}

std::string exchange_of(const Study& study, const StudyResult& result) {
  if (!result.fit) return "";
  const auto exchange = measured_exchange(study);
  if (!exchange) {
    const Error& why = exchange.error();
    return "the exchange is fitted to these times alone: " + why.what +
           (why.hint.empty() ? "" : " (" + why.hint + ")");
  }
  return fmt::format(
      "the exchange is bounded by the measured all-reduce ({}, {:.4g} MB: {:.4g} ms a step on {}); "
      "the times fit {} of it",
      study.allreduce->model.communicator, static_cast<double>(exchange->bytes) / 1e6,
      exchange->us / 1e3, counted(exchange->ranks, "rank"), percent_text(result.fit->exchange));
}

std::string advice_of(const Study& study, const StudyResult& result) {
  if (!result.fit) return "";
  const auto wish = percent_text(study.efficiency);
  const auto& base = result.points.front();
  if (!result.worth_it)
    return fmt::format("the efficiency stays at {} or more up to {} ranks, as far as the fit goes",
                       wish, 64LL * result.points.back().ranks);
  if (*result.worth_it == base.ranks)
    return fmt::format("no size above {} keeps an efficiency of {}", counted(base.ranks, "rank"),
                       wish);
  return fmt::format(
      "up to {} keep an efficiency of {}; beyond that the same work costs more than "
      "{:.3g} times the rank-hours of the smallest size",
      counted(*result.worth_it, "rank"), wish, 1 / study.efficiency);
}

Json to_json(const Study& study, const StudyResult& result) {
  Json points = Json::array();
  for (const StudyPoint& point : result.points) {
    points.push_back({{"ranks", point.ranks},
                      {"nodes", point.nodes},
                      {"repeats", point.repeats},
                      {study.trains ? "images_per_s" : "value", point.value},
                      {"spread", Json::array({point.low, point.high})},
                      {"epoch_s", json_of(point.epoch_s)},
                      {"speedup", point.speedup},
                      {"efficiency", point.efficiency},
                      {"parts", json_of_parts(point.parts)}});
  }
  Json predictions = Json::array();
  for (const StudyPrediction& one : result.predictions) {
    predictions.push_back({{"ranks", one.ranks},
                           {"value", one.value},
                           {"low", one.low},
                           {"high", one.high},
                           {"efficiency", one.efficiency}});
  }
  Json runs = Json::array();
  for (const StudyRun& run : study.runs) runs.push_back(write_fields(run));
  return {{"name", study.name},
          {"scaling", study.scaling == Scaling::weak ? "weak" : "strong"},
          {"unit", study.unit},
          {"better", study.lower_is_better ? "lower" : "higher"},
          {"local", study.local},
          {"job", study.job},
          {"efficiency", study.efficiency},
          {"points", points},
          {"spread", result.points.empty() ? Json() : Json(result.spread)},
          {"fit", result.fit ? json_of_fit(study, *result.fit) : Json()},
          {"predictions", predictions},
          {"worth_it", json_of(result.worth_it)},
          {"runs", runs}};
}

Study read_study(const Json& document) {
  Study study{.name = value_at<std::string>(document, "name")};
  study.scaling =
      value_at<std::string>(document, "scaling") == "weak" ? Scaling::weak : Scaling::strong;
  study.local = value_at<bool>(document, "local");
  study.job = value_at<std::string>(document, "job");
  study.unit = value_at<std::string>(document, "unit");
  study.lower_is_better = value_at<std::string>(document, "better") == "lower";
  const auto runs = value_at<Json>(document, "runs");
  for (std::size_t i = 0; runs.is_array() && i < runs.size(); ++i)
    if (runs[i].is_object()) study.runs.push_back(read_what_fits<StudyRun>(runs[i]));
  return study;
}

std::string render_study(const Study& study, const StudyResult& result) {
  std::vector<TableRow> rows = {{"ranks", "nodes", study.unit.empty() ? "value" : study.unit,
                                 "least .. most", "epoch, s", "speed-up", "efficiency"}};
  for (const StudyPoint& point : result.points) {
    rows.push_back(
        {std::to_string(point.ranks), std::to_string(point.nodes), value_text(point.value),
         point.repeats < 2 ? "-" : value_text(point.low) + " .. " + value_text(point.high),
         point.epoch_s ? fmt::format("{:.2f}", *point.epoch_s) : "-",
         fmt::format("{:.2f}", point.speedup), percent_text(point.efficiency)});
  }
  for (const StudyPrediction& one : result.predictions) {
    rows.push_back({std::to_string(one.ranks), "", value_text(one.value),
                    value_text(one.low) + " .. " + value_text(one.high), "", "",
                    percent_text(one.efficiency) + ", predicted"});
  }
  std::string text = table_text(rows);
  for (const StudyRun& run : study.runs) {
    if (counts(run) || run.reason.empty()) continue;
    text += fmt::format("{}, repeat {}: {}\n", counted(run.ranks, "rank"), run.repeat, run.reason);
  }
  const auto advice = advice_of(study, result);
  if (study.allreduce && result.fit) text += exchange_of(study, result) + "\n";
  return advice.empty() ? text : text + advice + "\n";
}

std::string study_csv(const Study& study, const StudyResult& result) {
  std::string text = fmt::format("ranks,nodes,repeats,{},low,high,epoch_s,speedup,efficiency",
                                 study.trains ? "images_per_s" : "value");
  for (const auto part : rank_parts) text += fmt::format(",{}", part);
  text += "\n";
  for (const StudyPoint& point : result.points) {
    text += fmt::format("{},{},{},{},{},{},{},{},{}", point.ranks, point.nodes, point.repeats,
                        point.value, point.low, point.high,
                        point.epoch_s ? fmt::format("{}", *point.epoch_s) : "NA", point.speedup,
                        point.efficiency);
    for (std::size_t i = 0; i < rank_parts.size(); ++i)
      text += point.parts.empty() ? ",NA" : fmt::format(",{}", point.parts[i]);
    text += "\n";
  }
  return text;
}

}  // namespace dllaunch
