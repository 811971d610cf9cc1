// Several runs side by side: their figures, how soon they reached a goal, and what differs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/compare/compared_run.hpp"
#include "launcher/compare/differences.hpp"
#include "launcher/compare/targets.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct Comparison {
  std::vector<ComparedRun> runs = {};
  std::vector<LeftOutRun> left_out = {};
  std::vector<Target> targets = {};
  std::vector<DifferenceGroup> differences = {};
  std::vector<std::string> notes = {};  // what was asked for and cannot be compared
};

struct TargetsWanted {
  std::optional<double> loss = {};
  std::optional<double> accuracy = {};
};

constexpr std::size_t most_compared = 16;

/// Gives runs of one label different ones: "a", "a (2)".
Comparison compare_runs(std::vector<ComparedRun> runs, std::vector<LeftOutRun> left_out,
                        const TargetsWanted& wanted);

/// Figures as text: a name and a cell a run. What no run has is left out. What a run cost is
/// "unknown" where its summary does not say.
struct FigureRow {
  std::string name = {};
  std::vector<std::string> cells = {};
};
std::vector<FigureRow> figure_rows(const Comparison& comparison);

Json to_json(const Comparison& comparison);

}  // namespace dllaunch
