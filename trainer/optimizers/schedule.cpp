#include "trainer/optimizers/schedule.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numbers>

#include <fmt/format.h>

namespace dllaunch {
namespace {

template <typename Entry>
const Entry& named(std::span<const Entry> table, std::string_view name) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry;
  }
  assert(false && "the configuration names an entry of the table");
  return table.front();
}

double stay(const ScheduleOptions&, const DecayMoment& at) {
  return at.full_lr;
}

double exponential(const ScheduleOptions& options, const DecayMoment& at) {
  return at.full_lr * std::pow(options.gamma, at.decaying);
}

double staircase(const ScheduleOptions& options, const DecayMoment& at) {
  constexpr double rounding = 1e-9;  // 3 * 0.1 != 0.3
  return at.full_lr *
         std::pow(options.gamma, std::floor(at.epochs / options.step_epochs + rounding));
}

double piecewise(const ScheduleOptions& options, const DecayMoment& at) {
  const auto next = std::ranges::upper_bound(options.milestones, at.epochs);
  const auto passed = next - options.milestones.begin();
  if (passed == 0) return at.full_lr;
  if (options.factors.empty()) {
    return at.full_lr * std::pow(options.gamma, static_cast<double>(passed));
  }
  return at.full_lr * options.factors[static_cast<std::size_t>(passed - 1)];
}

double polynomial(const ScheduleOptions& options, const DecayMoment& at) {
  return options.end_lr + (at.full_lr - options.end_lr) * std::pow(1 - at.progress, options.power);
}

double cosine(const ScheduleOptions& options, const DecayMoment& at) {
  return options.end_lr +
         (at.full_lr - options.end_lr) * (1 + std::cos(std::numbers::pi * at.progress)) / 2;
}

double inverse_time(const ScheduleOptions& options, const DecayMoment& at) {
  return at.full_lr / (1 + options.decay_rate * at.steps);
}

constexpr DecayOption exponential_options[] = {{.name = "gamma", .needed = true}};
constexpr DecayOption step_options[] = {{.name = "step_epochs", .needed = true},
                                        {.name = "gamma", .initial = 0.1}};
constexpr DecayOption piecewise_options[] = {
    {.name = "milestones", .needed = true}, {.name = "gamma", .initial = 0.1}, {.name = "factors"}};
constexpr DecayOption polynomial_options[] = {
    {.name = "power", .initial = 1}, {.name = "end_lr", .initial = 0}, {.name = "decay_epochs"}};
constexpr DecayOption cosine_options[] = {{.name = "end_lr", .initial = 0},
                                          {.name = "decay_epochs"}};
constexpr DecayOption inverse_time_options[] = {{.name = "decay_rate", .needed = true}};

}  // namespace

std::span<const ScalingEntry> lr_scalings() {
  static const ScalingEntry table[] = {
      {"none", "the rate as written, whatever the number of ranks", [](int) { return 1.0; }},
      {"linear", "the rate times the number of ranks (Goyal et al. 2017)",
       [](int ranks) { return static_cast<double>(ranks); }},
      {"sqrt", "the rate times the square root of the number of ranks (Krizhevsky 2014)",
       [](int ranks) { return std::sqrt(static_cast<double>(ranks)); }},
  };
  return table;
}

std::span<const DecayEntry> lr_decays() {
  static const DecayEntry table[] = {
      {"none", "constant after the warm-up", {}, stay},
      {"exponential", "times gamma per epoch, applied each step", exponential_options, exponential},
      {"step", "times gamma every step_epochs, at once", step_options, staircase},
      {"piecewise", "times gamma, or the factors, at the milestones", piecewise_options, piecewise},
      {"polynomial", "to end_lr along (1 - progress)^power", polynomial_options, polynomial},
      {"cosine", "to end_lr along half a cosine", cosine_options, cosine},
      {"inverse-time", "divided by 1 + decay_rate * steps", inverse_time_options, inverse_time},
  };
  return table;
}

double learning_rate(const ScheduleOptions& options, double base, int ranks,
                     std::int64_t steps_per_epoch, std::int64_t step,
                     std::optional<std::int64_t> taken) {
  const double full = base * named(lr_scalings(), options.scaling).factor(ranks);
  const auto per_epoch = static_cast<double>(steps_per_epoch);
  const auto steps = static_cast<double>(step);
  const double warmup_steps = std::round(options.warmup_epochs * per_epoch);
  if (steps < warmup_steps) {
    const double start = options.warmup_lr.value_or(base);
    return start + (full - start) * (steps / warmup_steps);
  }
  const double decaying = steps - warmup_steps;
  const double taken_for_one = steps > 0 ? static_cast<double>(taken.value_or(step)) / steps : 1;
  DecayMoment at{.full_lr = full,
                 .epochs = steps / per_epoch,
                 .decaying = decaying / per_epoch,
                 .steps = decaying * taken_for_one};
  const double length = options.decay_epochs.value_or(options.epochs - warmup_steps / per_epoch);
  at.progress = length > 0 ? std::min(at.decaying / length, 1.0) : 1;
  return named(lr_decays(), options.decay).rate(options, at);
}

std::string schedule_problem(const ScheduleOptions& options) {
  if (options.decay != "piecewise") return "";
  if (!std::ranges::is_sorted(options.milestones, std::less_equal<>())) {
    return fmt::format("lr_schedule.milestones must ascend, not {}",
                       fmt::join(options.milestones, ", "));
  }
  if (options.factors.empty() || options.factors.size() == options.milestones.size()) return "";
  return fmt::format("lr_schedule.factors needs one per milestone: {} for {}",
                     options.factors.size(), options.milestones.size());
}

}  // namespace dllaunch
