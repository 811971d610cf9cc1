// The learning rate of every step, as a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct ScheduleOptions {
  std::string scaling = "none";  // a name of lr_scalings()
  double warmup_epochs = 0;
  std::optional<double> warmup_lr = {};  // at step 0; absent: the rate before scaling
  std::string decay = "none";            // a name of lr_decays()
  double epochs = 1;                     // of the whole training
  // Options of particular decays:
  double gamma = 0.1;
  double step_epochs = 1;
  std::vector<double> milestones = {};  // epochs, ascending
  std::vector<double> factors = {};     // one per milestone, or none: powers of gamma
  double power = 1;
  double end_lr = 0;
  std::optional<double> decay_epochs = {};  // absent: until the end of the training
  double decay_rate = 0;
};

/// How the rate scales with the number of ranks.
struct ScalingEntry {
  std::string_view name;
  std::string_view summary;
  double (*factor)(int ranks);
};
std::span<const ScalingEntry> lr_scalings();

/// The position of a step after the warm-up.
struct DecayMoment {
  double full_lr = 0;   // the scaled rate before decay
  double epochs = 0;    // since the beginning of the training
  double decaying = 0;  // epochs since the end of the warm-up
  double progress = 0;  // 0 .. 1 of the decay period
  double steps = 0;     // steps taken since the end of the warm-up
};

/// A key of `lr_schedule:` used by a decay.
struct DecayOption {
  std::string_view name;
  std::optional<double> initial = {};  // default
  bool needed = false;                 // must be given
};

/// How the rate decays after the warm-up.
struct DecayEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const DecayOption> options;
  double (*rate)(const ScheduleOptions& options, const DecayMoment& at);
};
std::span<const DecayEntry> lr_decays();

/// Returns the learning rate of step `step` (0-based, as if the run had always had this number of
/// ranks). `taken`: the steps actually taken before it, if the number of ranks has changed; decays
/// by steps count those, minus the warm-up, so the rate does not jump.
///
/// Gradual warm-up (Goyal et al. 2017, section 2.2): from warmup_lr, or `base`, to scaling(ranks) *
/// base in equal increments per step over warmup_epochs; the first step after it has the full rate.
/// If both rates are equal, the warm-up has no effect. The decay begins when the warm-up ends, but
/// `step` and `piecewise` count epochs from the start of training.
double learning_rate(const ScheduleOptions& options, double base, int ranks,
                     std::int64_t steps_per_epoch, std::int64_t step,
                     std::optional<std::int64_t> taken = {});

/// Returns which options conflict; empty: none.
std::string schedule_problem(const ScheduleOptions& options);

}  // namespace dllaunch
