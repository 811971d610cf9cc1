// What the sensors of a GPU tell at one moment. A value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Why a GPU runs slower than it could. That nothing runs on it, or that somebody set its clock, is
/// none of them.
enum class GpuSlowdown : std::uint8_t {
  power_cap,    // the limit that software set for its power or current
  thermal,      // its temperature
  hardware,     // its hardware halves the clock at least: heat, or power that fails
  power_brake,  // the machine's power supply asks it to
  sync_boost,   // it waits for slower GPUs that it is grouped with
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
/// "power_cap, thermal"; empty: none.
std::string to_string(GpuSlowdowns reasons);

/// What the vendor's library does not tell is absent.
struct GpuReading {
  std::optional<double> utilisation = {};  // 0..1: of a moment, how much of it something ran
  std::optional<std::uint64_t> memory_used_bytes = {};
  std::optional<std::uint64_t> memory_total_bytes = {};
  std::optional<double> power_w = {};
  std::optional<double> power_limit_w = {};
  std::optional<double> sm_clock_mhz = {};  // of AMD's compute units: the system clock
  std::optional<double> most_sm_clock_mhz = {};
  std::optional<double> temperature_c = {};
  std::optional<GpuSlowdowns> slowdowns = {};
  std::optional<std::uint64_t> ecc_errors = {};    // not corrected, since the driver was loaded
  std::optional<std::vector<unsigned>> xids = {};  // NVIDIA's errors since the reading before
  std::string trouble = {};                        // why nothing can be read: "GPU is lost"
};

}  // namespace dllaunch
