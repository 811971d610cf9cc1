#include "launcher/sweep/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "launcher/sweep/sobol.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::pair<const char*, Range>, 4> ranges = {{{"linear", Range::linear},
                                                                  {"log", Range::log},
                                                                  {"int", Range::whole},
                                                                  {"choice", Range::choice}}};

constexpr int most_combinations = 100'000;

Error refuse(const std::string& name, const std::string& why, const std::string& hint = "") {
  return {ErrorKind::bad_request, fmt::format("sweep.parameters.{} {}", name, why), hint};
}

Result<Parameter> read_choices(Parameter parameter, const Json& values) {
  // Each trial's record in the journal repeats them.
  constexpr std::size_t most_bytes = 16384;
  if (values.dump().size() > most_bytes)
    return refuse(parameter.name, "has choices of more than 16 KiB",
                  "fewer or shorter ones, such as names of files that hold them");
  for (const Json& value : values) {
    if (std::ranges::find(parameter.choices, value) != parameter.choices.end())
      return refuse(parameter.name, fmt::format("has the choice {} twice", value.dump()));
    parameter.choices.push_back(value);
  }
  if (parameter.choices.empty()) return refuse(parameter.name, "has no choices");
  return parameter;
}

Result<Parameter> read_ends(Parameter parameter, const Json& ends) {
  parameter.low = ends[0];
  parameter.high = ends[1];
  if (!std::isfinite(parameter.low) || !std::isfinite(parameter.high))
    return refuse(parameter.name, "has an end that is no number");
  if (parameter.low >= parameter.high)
    return refuse(parameter.name,
                  fmt::format("is empty: {} is not below {}", parameter.low, parameter.high));
  if (!std::isfinite(parameter.high - parameter.low) ||
      (parameter.range == Range::whole && (parameter.low < -0x1p53 || parameter.high > 0x1p53)))
    return refuse(parameter.name, "has ends too far apart to be told exactly");
  if (parameter.range == Range::log && parameter.low <= 0)
    return refuse(parameter.name, fmt::format("is logarithmic and begins at {}", parameter.low),
                  "a logarithmic range is above 0");
  return parameter;
}

Result<Parameter> read_parameter(const std::string& name, const Json& rules) {
  Parameter parameter{.name = name};
  const Json* found = nullptr;
  for (const auto& [word, range] : ranges) {
    if (!rules.contains(word) || rules[word].is_null()) continue;
    if (found != nullptr) return refuse(name, "has two ranges", "keep one");
    found = &rules[word];
    parameter.range = range;
  }
  if (found == nullptr)
    return refuse(name, "has no range", "such as {log: [0.001, 0.1]} or {choice: [32, 64]}");
  if (rules.contains("steps") && rules["steps"].is_number()) parameter.steps = rules["steps"];
  return parameter.range == Range::choice ? read_choices(std::move(parameter), *found)
                                          : read_ends(std::move(parameter), *found);
}

/// At a place in [0, 1): of a range, its ends included.
Json value_of(const Parameter& parameter, double place) {
  switch (parameter.range) {
    case Range::choice: {
      const auto last = parameter.choices.size() - 1;
      const auto index =
          static_cast<std::size_t>(place * static_cast<double>(parameter.choices.size()));
      return parameter.choices[std::min(index, last)];
    }
    case Range::whole: {
      const double span = parameter.high - parameter.low + 1;
      return static_cast<std::int64_t>(
          std::min(parameter.low + std::floor(place * span), parameter.high));
    }
    case Range::log: {
      const double low = std::log(parameter.low);
      return std::clamp(std::exp(low + place * (std::log(parameter.high) - low)), parameter.low,
                        parameter.high);
    }
    case Range::linear:
      break;
  }
  return parameter.low + place * (parameter.high - parameter.low);
}

int grid_steps(const Parameter& parameter) {
  if (parameter.range == Range::choice) return static_cast<int>(parameter.choices.size());
  if (parameter.range != Range::whole) return *parameter.steps;
  const double all = parameter.high - parameter.low + 1;
  return static_cast<int>(std::min<double>(parameter.steps.value_or(most_combinations + 1), all));
}

Json grid_value(const Parameter& parameter, int step) {
  if (parameter.range == Range::choice) return parameter.choices[static_cast<std::size_t>(step)];
  const int steps = grid_steps(parameter);
  const double place = steps == 1 ? 0 : static_cast<double>(step) / (steps - 1);
  if (parameter.range == Range::whole)
    return static_cast<std::int64_t>(
        std::round(parameter.low + place * (parameter.high - parameter.low)));
  if (step == steps - 1 && steps > 1) return parameter.high;
  return value_of(parameter, place);
}

}  // namespace

Result<std::vector<Parameter>> read_space(const JobSweep& sweep) {
  if (sweep.parameters.is_null() || sweep.parameters.empty())
    return Error{ErrorKind::bad_request, "the job file has no sweep.parameters: nothing to try",
                 "sweep: {parameters: {train.optimizer.lr: {log: [0.001, 0.1]}}}"};
  std::vector<Parameter> space;
  for (const auto& [name, rules] : sweep.parameters.items()) {
    auto parameter = read_parameter(name, rules);
    if (!parameter) return std::move(parameter).error();
    const bool needs_steps = sweep.sampler == "grid" && !sweep.optuna && !parameter->steps &&
                             (parameter->range == Range::linear || parameter->range == Range::log);
    if (needs_steps) return refuse(name, "has no steps:, which a grid needs", "such as steps: 5");
    space.push_back(*std::move(parameter));
  }
  return space;
}

std::optional<int> grid_size(const std::vector<Parameter>& space) {
  std::int64_t all = 1;
  for (const Parameter& parameter : space) {
    all *= grid_steps(parameter);
    if (all > most_combinations) return std::nullopt;
  }
  return static_cast<int>(all);
}

Json random_values(const std::vector<Parameter>& space, int number, int seed) {
  const auto point = sobol_point(static_cast<std::uint32_t>(number), static_cast<int>(space.size()),
                                 static_cast<std::uint64_t>(seed));
  Json values = Json::object();
  for (std::size_t i = 0; i < space.size(); ++i)
    values[space[i].name] = value_of(space[i], point[i]);
  return values;
}

Json grid_values(const std::vector<Parameter>& space, int number) {
  Json values = Json::object();
  for (const Parameter& parameter : space) {
    const int steps = grid_steps(parameter);
    values[parameter.name] = grid_value(parameter, number % steps);
    number /= steps;
  }
  return values;
}

std::vector<Json> extremes_of(const Parameter& parameter) {
  if (parameter.range == Range::choice) return parameter.choices;
  if (parameter.range == Range::whole)
    return {static_cast<std::int64_t>(parameter.low), static_cast<std::int64_t>(parameter.high)};
  return {parameter.low, parameter.high};
}

}  // namespace dllaunch
