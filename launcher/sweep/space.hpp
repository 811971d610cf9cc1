// What a sweep tries: parameters, their ranges, and the values of each trial. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/job.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

enum class Range { linear, log, whole, choice };

struct Parameter {
  std::string name = {};  // a key of the job file, or of a {placeholder}
  Range range = Range::linear;
  double low = 0;
  double high = 0;  // included
  std::vector<Json> choices = {};
  std::optional<int> steps = {};  // of a grid
};

/// bad_request: no parameters; one without a range or with two; a range that is empty or has an end
/// that is no number; a grid without steps.
Result<std::vector<Parameter>> read_space(const JobSweep& sweep);

/// How many combinations a grid has; nullopt: more than 100,000.
std::optional<int> grid_size(const std::vector<Parameter>& space);

/// The values of a trial, by name. They depend on the arguments alone, so that a sweep that was
/// killed goes on with the same trials. `number` counts from 0.
Json random_values(const std::vector<Parameter>& space, int number, int seed);
Json grid_values(const std::vector<Parameter>& space, int number);

/// The ends of the range, or all choices.
std::vector<Json> extremes_of(const Parameter& parameter);

}  // namespace dllaunch
