// How long each run took to reach a loss or an accuracy. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/compare/compared_run.hpp"

namespace dllaunch {

enum class TargetKind : std::uint8_t { loss, accuracy };

/// When a run reached it: at the end of an epoch.
struct TargetReached {
  double wall_s = 0;
  std::int64_t epoch = 0;
};

struct Target {
  TargetKind kind = TargetKind::loss;
  bool validation = false;  // of the validation images; else of the training's
  double value = 0;
  std::vector<std::optional<TargetReached>> reached = {};  // a run each; nullopt: not reached
};

std::string_view name_of(TargetKind kind);

/// Whether an epoch of it has such a value, of the training or the validation.
bool has_values(const ComparedRun& run, TargetKind kind);

/// "validation loss 0.25".
std::string target_words(const Target& target);

/// `wanted`: the value; nullopt: the worst of the runs' best values, which all have reached. Of the
/// validation if every run with values has one, else of the training. nullopt: nothing to compare.
std::optional<Target> target_of(std::span<const ComparedRun> runs, TargetKind kind,
                                std::optional<double> wanted);

}  // namespace dllaunch
