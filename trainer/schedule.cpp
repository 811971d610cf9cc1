#include "trainer/schedule.hpp"

#include <cassert>
#include <cmath>

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

}  // namespace

std::span<const ScalingEntry> lr_scalings() {
  static const ScalingEntry table[] = {
      {"none", "the rate as written, whatever the number of ranks", [](int) { return 1.0; }},
      {"linear", "the rate times the number of ranks (Goyal et al. 2017)",
       [](int ranks) { return static_cast<double>(ranks); }},
  };
  return table;
}

std::span<const DecayEntry> lr_decays() {
  static const DecayEntry table[] = {
      {"none", "constant after the warm-up", [](double) { return 1.0; }},
  };
  return table;
}

double learning_rate(const ScheduleOptions& options, double base, int ranks,
                     std::int64_t steps_per_epoch, std::int64_t step) {
  const double full = base * named(lr_scalings(), options.scaling).factor(ranks);
  const double warmup_steps =
      std::round(options.warmup_epochs * static_cast<double>(steps_per_epoch));
  if (static_cast<double>(step) < warmup_steps) {
    return base + (full - base) * (static_cast<double>(step) / warmup_steps);
  }
  const double epochs_done = static_cast<double>(step) / static_cast<double>(steps_per_epoch);
  return full * named(lr_decays(), options.decay).factor(epochs_done);
}

}  // namespace dllaunch
