#include "launcher/sweep/optuna_records.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <optional>
#include <utility>

#include "launcher/os/stored_json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

enum Operation {
  create_study = 0,
  create_trial = 4,
  set_parameter = 5,
  set_state = 6,
  set_intermediate = 7,
  set_attribute = 8
};
enum OptunaState { running = 0, completed = 1, pruned = 2, failed = 3 };

constexpr const char* worker = "dllaunch";

Json record_of(Operation operation) {
  return {{"op_code", static_cast<int>(operation)}, {"worker_id", worker}};
}

/// A choice by its place in the list, numbers as they are.
Json internal_value(const Parameter& parameter, const Json& value) {
  if (parameter.range != Range::choice) return value.get<double>();
  const auto found = std::ranges::find(parameter.choices, value);
  return static_cast<std::int64_t>(found - parameter.choices.begin());
}

const Json& member(const Json& object, const char* key) {
  static const Json nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

/// Null if the distribution cannot be read.
Json external_value(std::string_view distribution, const Json& internal) {
  const Json document = json_object_in(distribution);
  if (document.is_null() || !internal.is_number()) return nullptr;
  const auto name = value_at<std::string>(document, "name");
  const double index = internal.get<double>();
  if (name == "IntDistribution" && std::abs(index) < 0x1p53)
    return static_cast<std::int64_t>(index);
  if (name != "CategoricalDistribution") return index;
  const Json& attributes = member(document, "attributes");
  if (!attributes.is_object()) return nullptr;
  const Json& choices = member(attributes, "choices");
  if (!choices.is_array() || !(index >= 0) || index >= static_cast<double>(choices.size()))
    return nullptr;
  return choices[static_cast<std::size_t>(index)];
}

Json own_state(const Trial& trial) {
  return {{"state", to_string(trial.state)},
          {"target", trial.target},
          {"run", trial.run},
          {"reason", trial.reason},
          {"attempts", trial.attempts},
          {"gpu_seconds", trial.gpu_seconds},
          {"log_from", trial.log_from},
          {"judged", trial.judged}};
}

void take_own_state(const Json& own, Trial& trial) {
  if (!own.is_object()) return;
  const auto state = value_at<std::string>(own, "state");
  const auto known = std::ranges::find(trial_state_names, state);
  if (known != std::end(trial_state_names))
    trial.state = static_cast<TrialState>(known - std::begin(trial_state_names));
  trial.target = value_at<std::int64_t>(own, "target");
  trial.run = value_at<std::string>(own, "run");
  trial.reason = value_at<std::string>(own, "reason");
  trial.attempts = value_at<int>(own, "attempts");
  trial.gpu_seconds = value_at<double>(own, "gpu_seconds");
  trial.judged = value_at<std::string>(own, "judged");
  trial.log_from.clear();
  const Json& from = member(own, "log_from");
  if (from.is_object())
    for (const auto& [name, bytes] : from.items())
      trial.log_from[name] = value_at<std::uint64_t>(from, name.c_str());
}

void take_parameters(const Json& record, Trial& trial) {
  const Json& values = member(record, "params");
  const Json& distributions = member(record, "distributions");
  if (!values.is_object() || !distributions.is_object()) return;
  for (const auto& [name, value] : values.items()) {
    const Json& distribution = member(distributions, name.c_str());
    if (distribution.is_string())
      trial.parameters[name] = external_value(distribution.get<std::string>(), value);
  }
}

}  // namespace

std::string iso_time(double unix_s) {
  const double whole = std::floor(unix_s);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+00:00",
                     fmt::gmtime(static_cast<std::time_t>(whole)),
                     static_cast<int>((unix_s - whole) * 1e6));
}

std::string distribution_of(const Parameter& parameter) {
  Json attributes;
  if (parameter.range == Range::choice) {
    Json choices = Json::array();
    for (const Json& choice : parameter.choices) choices.push_back(choice);
    return Json{{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}}.dump();
  }
  if (parameter.range == Range::whole) {
    attributes = {{"log", false},
                  {"step", 1},
                  {"low", static_cast<std::int64_t>(parameter.low)},
                  {"high", static_cast<std::int64_t>(parameter.high)}};
    return Json{{"name", "IntDistribution"}, {"attributes", attributes}}.dump();
  }
  attributes = {{"step", nullptr},
                {"low", parameter.low},
                {"high", parameter.high},
                {"log", parameter.range == Range::log}};
  return Json{{"name", "FloatDistribution"}, {"attributes", attributes}}.dump();
}

Json study_record(const std::string& name, bool minimize) {
  Json record = record_of(create_study);
  record["study_name"] = name;
  record["directions"] = Json::array({minimize ? 1 : 2});
  return record;
}

Json trial_record(const std::vector<Parameter>& space, const Trial& trial, int study,
                  double unix_s) {
  Json record = record_of(create_trial);
  record["study_id"] = study;
  record["datetime_start"] = iso_time(unix_s);
  record["state"] = static_cast<int>(running);
  record["value"] = nullptr;
  record["values"] = nullptr;
  record["distributions"] = Json::object();
  record["params"] = Json::object();
  for (const Parameter& parameter : space) {
    record["distributions"][parameter.name] = distribution_of(parameter);
    record["params"][parameter.name] = internal_value(parameter, trial.parameters[parameter.name]);
  }
  record["user_attrs"] = {{"dllaunch", own_state(trial)}};
  record["system_attrs"] = Json::object();
  record["intermediate_values"] = Json::object();
  return record;
}

Json own_record(int id, const Trial& trial) {
  Json record = record_of(set_attribute);
  record["trial_id"] = id;
  record["user_attr"] = {{"dllaunch", own_state(trial)}};
  return record;
}

Json value_record(int id, std::int64_t epoch, double value) {
  Json record = record_of(set_intermediate);
  record["trial_id"] = id;
  record["step"] = epoch;
  record["intermediate_value"] = value;
  return record;
}

Json end_record(int id, const Trial& trial, double unix_s) {
  Json record = record_of(set_state);
  record["trial_id"] = id;
  record["state"] = static_cast<int>(trial.state == TrialState::completed ? completed
                                     : trial.state == TrialState::failed  ? failed
                                                                          : pruned);
  record["values"] = nullptr;
  if (const auto value = trial.value(); value && trial.state != TrialState::failed)
    record["values"] = Json::array({*value});
  record["datetime_complete"] = iso_time(unix_s);
  return record;
}

Trial* OptunaReplay::at(const Json& record) {
  const auto number = numbers_.find(value_at<int>(record, "trial_id", -1));
  if (number == numbers_.end() || ended_.contains(number->second)) return nullptr;
  return &trials_[static_cast<std::size_t>(number->second)];
}

void OptunaReplay::create(const Json& record) {
  const int id = next_id_++;
  if (study_id_ < 0 || value_at<int>(record, "study_id", -1) != study_id_) return;
  Trial trial{.number = static_cast<int>(trials_.size())};
  take_parameters(record, trial);
  if (const Json& attributes = member(record, "user_attrs"); attributes.is_object())
    take_own_state(member(attributes, "dllaunch"), trial);
  numbers_[id] = trial.number;
  ids_.push_back(id);
  trials_.push_back(std::move(trial));
}

void OptunaReplay::take(std::string_view line) {
  const Json record = json_object_in(line);
  if (record.is_null()) return;
  const int operation = value_at<int>(record, "op_code", -1);
  if (operation == create_study) {
    if (value_at<std::string>(record, "study_name") == study_ && study_id_ < 0)
      study_id_ = studies_;
    ++studies_;
    return;
  }
  if (operation == create_trial) return create(record);
  Trial* trial = at(record);
  if (trial == nullptr) return;
  if (operation == set_parameter) {
    const auto name = value_at<std::string>(record, "param_name");
    trial->parameters[name] = external_value(value_at<std::string>(record, "distribution"),
                                             member(record, "param_value_internal"));
  } else if (operation == set_intermediate) {
    if (const auto value = value_at<std::optional<double>>(record, "intermediate_value"))
      trial->values[value_at<std::int64_t>(record, "step")] = *value;
  } else if (operation == set_attribute) {
    if (const Json& attribute = member(record, "user_attr"); attribute.is_object())
      if (const Json& own = member(attribute, "dllaunch"); !own.is_null())
        take_own_state(own, *trial);
  } else if (operation == set_state) {
    const int state = value_at<int>(record, "state", running);
    if (state < completed || state > failed) return;
    trial->state = state == completed ? TrialState::completed
                   : state == failed  ? TrialState::failed
                                      : TrialState::stopped;
    ended_.insert(trial->number);
  }
}

}  // namespace dllaunch
