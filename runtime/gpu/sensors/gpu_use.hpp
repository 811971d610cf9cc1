// A GPU's use over a period, from readings of its sensors. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/gpu/sensors/gpu_reading.hpp"

namespace dllaunch {

/// A sampled value: each reading stands for the time since the previous one.
struct OverTime {
  double seconds = 0;  // for which the value is known; sums cover these
  double sum = 0;      // of value x seconds
  double readings = 0;
  double least = 0;  // over readings, as is `most`
  double most = 0;

  void add(double value, double for_seconds);
  /// The weighted mean, or midway between least and most if no time passed. Absent if never read.
  std::optional<double> mean() const;
};

/// Doubles only, since ranks gather it as raw memory. A value that no reading had counts no
/// readings, not zeros.
struct GpuUse {
  double readings = 0;
  double failed = 0;      // readings that returned only an error
  double seconds = 0;     // between readings, each at most GpuUseMeter::longest_gap_s
  double unanswered = 0;  // seconds since the last reading, or since sampling began
  OverTime utilisation;   // 0..1
  OverTime memory;        // bytes used
  OverTime power;         // W; the sum is the energy in J
  OverTime clock;         // MHz
  OverTime loaded_clock;  // MHz, while something ran at least half of the time
  double memory_total = 0;
  double power_limit = 0;
  double most_clock = 0;                                  // the maximum it supports, in MHz
  double temperature = 0;                                 // maximum, in degrees Celsius; 0: unknown
  double slowdowns_known = 0;                             // seconds
  double slowed = 0;                                      // seconds, for any reason
  std::array<double, gpu_slowdown_kinds> slowed_by = {};  // seconds; reasons may coincide
  double ecc_known = 0;                                   // readings that include them
  double ecc_errors = 0;                                  // new uncorrected ones
  double xids_known = 0;                                  // readings that include them
  double xids = 0;                                        // number of them
  std::array<double, 4> first_xids = {};                  // the first distinct ones; 0: none
  // Not from sensors, but from the code that gives the GPU its work:
  double steps = 0;      // with known times
  double busy_s = 0;     // inside steps
  double exposed_s = 0;  // of busy_s: only waiting for communication
  double gaps = 0;       // between steps
  double idle_s = 0;     // inside gaps

  /// The share of time slowed down, of the time for which reasons are known.
  std::optional<double> slowed_share() const;
  /// The share of the gap in a step and the gap before it. Absent if there were none.
  std::optional<double> idle_share() const;
  /// Per step.
  std::optional<double> exposed_ms() const;
};
constexpr std::size_t gpu_use_doubles = sizeof(GpuUse) / sizeof(double);
static_assert(gpu_use_doubles == 54, "gathered as an array of doubles");

class GpuUseMeter {
 public:
  /// The longest time that one reading stands for: after a minute without an answer, that minute is
  /// unknown.
  static constexpr double longest_gap_s = 10;

  /// `at_s`: seconds of a monotonic clock.
  void add(const GpuReading& reading, double at_s);
  /// Returns the use since the last take() and starts anew; `at_s` as above.
  GpuUse take(double at_s);
  /// Discards the use so far, except errors and failures: they belong to the next take().
  void restart(double at_s);

 private:
  void add_load(const GpuReading& reading, double seconds);
  void add_errors(const GpuReading& reading);

  GpuUse use_;
  std::optional<double> last_s_;             // of the previous reading
  std::optional<double> began_s_;            // the very first call
  std::optional<std::uint64_t> ecc_errors_;  // of the previous reading
};

}  // namespace dllaunch
