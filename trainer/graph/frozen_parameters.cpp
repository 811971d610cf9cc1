#include "trainer/graph/frozen_parameters.hpp"

#include <vector>

#include <fmt/format.h>

#include "trainer/graph/name_patterns.hpp"

namespace dllaunch {

Result<Ok> freeze_parameters(Graph& graph, std::span<const std::string> patterns) {
  if (patterns.empty()) return Ok{};
  std::vector<std::string> names;
  for (const Parameter& parameter : graph.parameters) names.push_back(parameter.name);
  if (const auto unmatched = unmatched_patterns(patterns, names); !unmatched.empty()) {
    return Error{ErrorKind::bad_request,
                 fmt::format("freeze: no parameter of model {} is called {}", graph.model,
                             fmt::join(unmatched, " or ")),
                 "they begin with " + name_prefixes(names)};
  }
  bool any_left = false;
  for (Parameter& parameter : graph.parameters) {
    parameter.frozen = is_selected(patterns, parameter.name);
    any_left = any_left || !parameter.frozen;
  }
  if (any_left) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("freeze: no parameter of model {} is left to train", graph.model),
               "exclude the parameters to train: [\"*\", \"!NAME\"]"};
}

std::int64_t frozen_count(const Graph& graph) {
  std::int64_t count = 0;
  for (const Parameter& parameter : graph.parameters) {
    if (parameter.frozen) count += elements_of(parameter.shape);
  }
  return count;
}

}  // namespace dllaunch
