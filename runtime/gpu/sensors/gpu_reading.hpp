// One reading of a GPU's sensors, as a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Why a GPU runs below its possible speed. Idling and clocks set by a user do not count.
enum class GpuSlowdown : std::uint8_t {
  power_cap,    // the configured limit of its power or current
  thermal,      // its temperature
  hardware,     // the hardware at least halves the clock: heat, or a failing power supply
  power_brake,  // requested by the machine's power supply
  sync_boost,   // waits for slower GPUs in its sync group
  other
};
constexpr std::size_t gpu_slowdown_kinds = 6;
constexpr std::array<GpuSlowdown, gpu_slowdown_kinds> gpu_slowdowns = {
    GpuSlowdown::power_cap,   GpuSlowdown::thermal,    GpuSlowdown::hardware,
    GpuSlowdown::power_brake, GpuSlowdown::sync_boost, GpuSlowdown::other};
std::string_view to_string(GpuSlowdown reason);

class GpuSlowdowns {
 public:
  bool any() const { return bits_ != 0; }
  bool has(GpuSlowdown reason) const { return (bits_ & bit(reason)) != 0; }
  void add(GpuSlowdown reason) { bits_ |= bit(reason); }
  bool operator==(const GpuSlowdowns&) const = default;

 private:
  static unsigned bit(GpuSlowdown reason) { return 1U << static_cast<unsigned>(reason); }
  unsigned bits_ = 0;
};
/// "power_cap, thermal"; empty if none.
std::string to_string(GpuSlowdowns reasons);

/// Values that the vendor's library does not report are absent.
struct GpuReading {
  std::optional<double> utilisation = {};  // 0..1: the share of a moment in which something ran
  std::optional<std::uint64_t> memory_used_bytes = {};
  std::optional<std::uint64_t> memory_total_bytes = {};
  std::optional<double> power_w = {};
  std::optional<double> power_limit_w = {};
  std::optional<double> sm_clock_mhz = {};  // AMD: the system clock of the compute units
  std::optional<double> most_sm_clock_mhz = {};
  std::optional<double> temperature_c = {};
  std::optional<GpuSlowdowns> slowdowns = {};
  std::optional<std::uint64_t> ecc_errors = {};    // uncorrected, since the driver was loaded
  std::optional<std::vector<unsigned>> xids = {};  // NVIDIA's errors since the previous reading
  std::string trouble = {};                        // why nothing could be read: "GPU is lost"
};

}  // namespace dllaunch
