// What differs between runs: job files, code, environment, versions, machines. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/compare/compared_run.hpp"

namespace dllaunch {

struct Difference {
  std::string name = {};
  /// A value a run, secrets left out. nullopt: the run's record does not say, and does not count;
  /// empty: it has none.
  std::vector<std::optional<std::string>> values = {};
};

struct DifferenceGroup {
  std::string_view id = {};     // "job"
  std::string_view title = {};  // "Job file"
  std::vector<Difference> rows = {};
};

/// All groups, those without a difference too, always in the same order.
std::vector<DifferenceGroup> differences_of(std::span<const ComparedRun> runs);

}  // namespace dllaunch
