// How a GPU was used over some time, from readings of its sensors. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/gpu/sensors/gpu_reading.hpp"

namespace dllaunch {

/// Something that was read now and then: each reading stands for the time since the one before.
struct OverTime {
  double seconds = 0;  // for which it is known; the sums are over these
  double sum = 0;      // of value x seconds
  double readings = 0;
  double least = 0;  // of readings, as the next
  double most = 0;

  void add(double value, double for_seconds);
  /// Absent where it was never read. Without any time between readings: halfway of least and most.
  std::optional<double> mean() const;
};

/// Doubles only: ranks gather it as it lies. What no reading told has no readings, not zeros.
struct GpuUse {
  double readings = 0;
  double failed = 0;      // readings that told only a trouble
  double seconds = 0;     // between readings, at most GpuUseMeter::longest_gap_s each
  double unanswered = 0;  // seconds since the last reading, or since readings were asked for
  OverTime utilisation;   // 0..1
  OverTime memory;        // bytes used
  OverTime power;         // W; its sum is the energy in J
  OverTime clock;         // MHz
  OverTime loaded_clock;  // MHz, while at least half of the time something ran
  double memory_total = 0;
  double power_limit = 0;
  double most_clock = 0;       // that it could have, in MHz
  double temperature = 0;      // the highest, in degrees Celsius; 0: not told
  double slowdowns_known = 0;  // seconds
  double slowed = 0;           // seconds, for whatever reason
  std::array<double, gpu_slowdown_kinds> slowed_by = {};  // seconds; reasons may come together
  double ecc_known = 0;                                   // readings that tell them
  double ecc_errors = 0;                                  // new ones, not corrected
  double xids_known = 0;                                  // readings that tell them
  double xids = 0;                                        // how many
  std::array<double, 4> first_xids = {};                  // the first of them that differ; 0: none
  // Not of sensors, but of whoever gives the GPU its work:
  double steps = 0;      // whose times are known
  double busy_s = 0;     // within them
  double exposed_s = 0;  // of them: while it did nothing but wait for communication
  double gaps = 0;       // between steps
  double idle_s = 0;     // in them

  /// Of the time for which reasons are known: the share in which it was slowed down.
  std::optional<double> slowed_share() const;
  /// Of a step and the gap before it: the share of the gap. Absent where there was none.
  std::optional<double> idle_share() const;
  /// Of a step.
  std::optional<double> exposed_ms() const;
};
constexpr std::size_t gpu_use_doubles = sizeof(GpuUse) / sizeof(double);
static_assert(gpu_use_doubles == 54, "gathered as an array of doubles");

class GpuUseMeter {
 public:
  /// A reading stands for no more than this: who reads once a second and had no answer for a minute
  /// does not know how that minute was.
  static constexpr double longest_gap_s = 10;

  /// `at_s`: seconds of a clock that only goes forward.
  void add(const GpuReading& reading, double at_s);
  /// What came since the last take(), which begins anew; `at_s` as above.
  GpuUse take(double at_s);
  /// Forgets what was, but for errors and failures: they belong to the next take().
  void restart(double at_s);

 private:
  void add_load(const GpuReading& reading, double seconds);
  void add_errors(const GpuReading& reading);

  GpuUse use_;
  std::optional<double> last_s_;             // of the reading before
  std::optional<double> began_s_;            // the first call of all
  std::optional<std::uint64_t> ecc_errors_;  // of the reading before
};

}  // namespace dllaunch
