#include "launcher/compare/targets.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace dllaunch {
namespace {

using Member = std::optional<double> ComparedEpoch::*;

Member member_of(TargetKind kind, bool validation) {
  if (kind == TargetKind::loss) return validation ? &ComparedEpoch::val_loss : &ComparedEpoch::loss;
  return validation ? &ComparedEpoch::val_accuracy : &ComparedEpoch::accuracy;
}

bool is_as_good(TargetKind kind, double value, double goal) {
  return kind == TargetKind::loss ? value <= goal : value >= goal;
}

std::optional<double> best_of(const ComparedRun& run, TargetKind kind, Member member) {
  std::optional<double> best;
  for (const ComparedEpoch& epoch : run.epochs) {
    const auto& value = epoch.*member;
    if (value && std::isfinite(*value) && (!best || is_as_good(kind, *value, *best))) best = *value;
  }
  return best;
}

/// The worst of the best; nullopt: a run has values, but not of these images, or none has values.
std::optional<double> common_goal(std::span<const ComparedRun> runs, TargetKind kind,
                                  Member member) {
  std::optional<double> worst;
  for (const ComparedRun& run : runs) {
    if (!has_values(run, kind)) continue;
    const auto best = best_of(run, kind, member);
    if (!best) return std::nullopt;
    if (!worst || is_as_good(kind, *worst, *best)) worst = best;
  }
  return worst;
}

}  // namespace

std::string_view name_of(TargetKind kind) {
  return kind == TargetKind::loss ? "loss" : "accuracy";
}

bool has_values(const ComparedRun& run, TargetKind kind) {
  return best_of(run, kind, member_of(kind, true)) || best_of(run, kind, member_of(kind, false));
}

std::string target_words(const Target& target) {
  return fmt::format("{} {} {:.4g}", target.validation ? "validation" : "training",
                     name_of(target.kind), target.value);
}

std::optional<Target> target_of(std::span<const ComparedRun> runs, TargetKind kind,
                                std::optional<double> wanted) {
  for (const bool validation : {true, false}) {
    const Member member = member_of(kind, validation);
    const auto common = common_goal(runs, kind, member);
    if (!common) continue;
    Target target{.kind = kind, .validation = validation, .value = wanted.value_or(*common)};
    for (const ComparedRun& run : runs) {
      const auto first = std::ranges::find_if(run.epochs, [&](const ComparedEpoch& epoch) {
        const auto& value = epoch.*member;
        return value && is_as_good(kind, *value, target.value);
      });
      target.reached.push_back(first == run.epochs.end()
                                   ? std::nullopt
                                   : std::optional(TargetReached{first->wall_s, first->epoch}));
    }
    return target;
  }
  return std::nullopt;
}

}  // namespace dllaunch
