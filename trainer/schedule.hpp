// The learning rate of every step, as a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

struct ScheduleOptions {
  std::string scaling = "none";  // a name of lr_scalings()
  double warmup_epochs = 0;
  std::string decay = "none";  // a name of lr_decays()
};

/// How the rate grows with the number of ranks.
struct ScalingEntry {
  std::string_view name;
  std::string_view summary;
  double (*factor)(int ranks);
};
std::span<const ScalingEntry> lr_scalings();

/// What becomes of the rate after the warm-up, as a factor of it.
struct DecayEntry {
  std::string_view name;
  std::string_view summary;
  double (*factor)(double epochs_done);
};
std::span<const DecayEntry> lr_decays();

/// The rate of step `step` (0-based, counted over the whole run).
///
/// Gradual warm-up (Goyal et al. 2017): from `base` to scaling(ranks) * base in equal increments,
/// one per step, over warmup_epochs; step 0 uses `base`, the first step after the warm-up the full
/// rate. Without scaling the two are the same and the warm-up changes nothing.
double learning_rate(const ScheduleOptions& options, double base, int ranks,
                     std::int64_t steps_per_epoch, std::int64_t step);

}  // namespace dllaunch
