// The energy of this machine's processors, from RAPL: intel-rapl:* of powercap, AMD's too.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dllaunch {

/// One counter, in microjoules. It wraps: after some minutes under load.
struct RaplCounter {
  std::string path = {};    // of its folder
  std::uint64_t now = 0;    // energy_uj
  std::uint64_t range = 0;  // max_energy_range_uj; 0: unknown
};

/// Microjoules between two readings that are less than a wrap apart; nullopt: it wrapped, and at
/// what is unknown.
std::optional<std::uint64_t> energy_between(std::uint64_t before, const RaplCounter& after);

/// The packages' counters; their domains (cores, memory) are parts of them, psys is all of them
/// again. Empty if one cannot be read: usually only root can.
std::vector<RaplCounter> read_rapl(const std::string& folder);

/// Adds up what the packages use while it exists. Other processes of the machine count too.
class RaplMeter {
 public:
  explicit RaplMeter(std::string folder = "/sys/class/powercap");

  /// Call often: it looks every ten seconds.
  void look();
  /// Joules up to now; nullopt: unknown.
  std::optional<double> joules();

 private:
  void take();

  std::string folder_;
  std::vector<RaplCounter> before_;
  std::uint64_t microjoules_ = 0;
  bool known_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace dllaunch
