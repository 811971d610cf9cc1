#include "runtime/gpu/sensors/gpu_use.hpp"

#include <algorithm>
#include <cstddef>

namespace dllaunch {

void OverTime::add(double value, double for_seconds) {
  least = readings == 0 ? value : std::min(least, value);
  most = readings == 0 ? value : std::max(most, value);
  readings += 1;
  seconds += for_seconds;
  sum += value * for_seconds;
}

std::optional<double> OverTime::mean() const {
  if (readings == 0) return std::nullopt;
  return seconds > 0 ? sum / seconds : (least + most) / 2;
}

std::optional<double> GpuUse::slowed_share() const {
  if (slowdowns_known <= 0) return std::nullopt;
  return slowed / slowdowns_known;
}

std::optional<double> GpuUse::idle_share() const {
  if (gaps <= 0 || busy_s + idle_s <= 0) return std::nullopt;
  // Part of an epoch has one gap fewer than steps.
  const double gap_s = idle_s / gaps;
  return gap_s / (gap_s + busy_s / steps);
}

std::optional<double> GpuUse::exposed_ms() const {
  if (steps <= 0) return std::nullopt;
  return exposed_s / steps * 1e3;
}

void GpuUseMeter::add(const GpuReading& reading, double at_s) {
  const double seconds = last_s_ ? std::clamp(at_s - *last_s_, 0.0, longest_gap_s) : 0;
  if (!began_s_) began_s_ = at_s;
  last_s_ = at_s;
  add_errors(reading);
  if (!reading.trouble.empty()) {
    use_.failed += 1;
    return;
  }
  use_.readings += 1;
  use_.seconds += seconds;
  add_load(reading, seconds);
  if (!reading.slowdowns) return;
  use_.slowdowns_known += seconds;
  if (reading.slowdowns->any()) use_.slowed += seconds;
  for (const GpuSlowdown reason : gpu_slowdowns) {
    if (reading.slowdowns->has(reason)) use_.slowed_by[static_cast<std::size_t>(reason)] += seconds;
  }
}

void GpuUseMeter::add_load(const GpuReading& reading, double seconds) {
  constexpr double loaded = 0.5;
  if (reading.utilisation) use_.utilisation.add(*reading.utilisation, seconds);
  if (reading.memory_used_bytes) {
    use_.memory.add(static_cast<double>(*reading.memory_used_bytes), seconds);
  }
  if (reading.power_w) use_.power.add(*reading.power_w, seconds);
  if (reading.sm_clock_mhz) {
    use_.clock.add(*reading.sm_clock_mhz, seconds);
    if (reading.utilisation.value_or(0) >= loaded) {
      use_.loaded_clock.add(*reading.sm_clock_mhz, seconds);
    }
  }
  use_.memory_total =
      std::max(use_.memory_total, static_cast<double>(reading.memory_total_bytes.value_or(0)));
  use_.power_limit = std::max(use_.power_limit, reading.power_limit_w.value_or(0));
  use_.most_clock = std::max(use_.most_clock, reading.most_sm_clock_mhz.value_or(0));
  use_.temperature = std::max(use_.temperature, reading.temperature_c.value_or(0));
}

void GpuUseMeter::add_errors(const GpuReading& reading) {
  if (reading.ecc_errors) {
    use_.ecc_known += 1;
    // The count only grows, unless the driver is reloaded.
    const std::uint64_t before =
        std::min(ecc_errors_.value_or(*reading.ecc_errors), *reading.ecc_errors);
    use_.ecc_errors += static_cast<double>(*reading.ecc_errors - before);
    ecc_errors_ = reading.ecc_errors;
  }
  if (!reading.xids) return;
  use_.xids_known += 1;
  for (const unsigned xid : *reading.xids) {
    use_.xids += 1;
    for (double& known : use_.first_xids) {
      if (known == xid) break;
      if (known != 0) continue;
      known = xid;
      break;
    }
  }
}

GpuUse GpuUseMeter::take(double at_s) {
  if (!began_s_) began_s_ = at_s;
  GpuUse taken = use_;
  taken.unanswered = std::max(0.0, at_s - last_s_.value_or(*began_s_));
  use_ = {};
  return taken;
}

void GpuUseMeter::restart(double at_s) {
  const GpuUse before = take(at_s);
  use_.failed = before.failed;
  use_.ecc_known = before.ecc_known;
  use_.ecc_errors = before.ecc_errors;
  use_.xids_known = before.xids_known;
  use_.xids = before.xids;
  use_.first_xids = before.first_xids;
}

}  // namespace dllaunch
