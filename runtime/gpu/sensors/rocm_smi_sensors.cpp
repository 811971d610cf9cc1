#include "runtime/gpu/sensors/rocm_smi_sensors.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <utility>

#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

// ---- numbers and structures of rocm_smi.h (5.2.3 and 6.x) -----------------------------------

constexpr int success = 0;
constexpr int video_memory = 0;
constexpr int system_clock = 0;
constexpr std::uint32_t junction_sensor = 1;
constexpr std::uint32_t edge_sensor = 0;
constexpr int current_temperature = 0;
constexpr std::uint32_t first_sensor = 0;
constexpr std::uint32_t most_devices = 1024;

struct ErrorCount {
  std::uint64_t corrected, uncorrected;
};

/// As in ROCm 5; ROCm 6 has one more word before the numbers, and four bytes after them.
struct Frequencies {
  std::uint32_t count, current;
  std::uint64_t hz[32];
};
struct FrequenciesSince6 {
  std::uint8_t has_deep_sleep;
  std::uint32_t count, current;
  std::uint64_t hz[33];
};
static_assert(sizeof(Frequencies) == 264 && sizeof(FrequenciesSince6) == 280);

/// The beginning of rsmi_gpu_metrics_t, which grows with each release. Used only if it announces
/// format 1, content 3 (the kernel's gpu_metrics_v1_3: MI200 and earlier).
struct Metrics {
  std::uint16_t size;
  std::uint8_t format, content;
  std::array<std::uint8_t, 108> others;
  std::uint64_t slowed;  // indep_throttle_status
};
static_assert(offsetof(Metrics, slowed) == 112);
constexpr std::size_t most_metrics = 16384;

struct Throttler {
  int first, last;  // bits
  GpuSlowdown slowdown;
};
// The kernel's amdgpu_smu.h, SMU_THROTTLER_*_BIT: power, current, temperatures and hot voltage
// regulators, PROCHOT, the rest.
constexpr Throttler throttlers[] = {{0, 7, GpuSlowdown::power_cap},
                                    {16, 23, GpuSlowdown::power_cap},
                                    {32, 45, GpuSlowdown::thermal},
                                    {46, 47, GpuSlowdown::hardware},
                                    {56, 57, GpuSlowdown::other}};

/// RocmSmiFunctions that a release may lack.
struct RocmSmiFunctions {
  int (*busy)(std::uint32_t, std::uint32_t* percent) = nullptr;
  int (*memory_total)(std::uint32_t, int kind, std::uint64_t* bytes) = nullptr;
  int (*memory_used)(std::uint32_t, int kind, std::uint64_t* bytes) = nullptr;
  int (*power)(std::uint32_t, std::uint64_t* microwatts, int* kind) = nullptr;
  int (*mean_power)(std::uint32_t, std::uint32_t sensor, std::uint64_t* microwatts) = nullptr;
  int (*power_limit)(std::uint32_t, std::uint32_t sensor, std::uint64_t* microwatts) = nullptr;
  int (*clocks)(std::uint32_t, int kind, void* frequencies) = nullptr;
  int (*temperature)(std::uint32_t, std::uint32_t sensor, int metric, std::int64_t*) = nullptr;
  int (*metrics)(std::uint32_t, void*) = nullptr;
  int (*ecc_blocks)(std::uint32_t, std::uint64_t* bits) = nullptr;
  int (*ecc_errors)(std::uint32_t, std::uint64_t block, ErrorCount*) = nullptr;
};

RocmSmiFunctions functions_of(const SharedLibrary& library) {
  RocmSmiFunctions found;
  library.find("rsmi_dev_busy_percent_get", found.busy);
  library.find("rsmi_dev_memory_total_get", found.memory_total);
  library.find("rsmi_dev_memory_usage_get", found.memory_used);
  library.find("rsmi_dev_power_get", found.power);  // since ROCm 6: MI300 has no average
  library.find("rsmi_dev_power_ave_get", found.mean_power);
  library.find("rsmi_dev_power_cap_get", found.power_limit);
  library.find("rsmi_dev_gpu_clk_freq_get", found.clocks);
  library.find("rsmi_dev_temp_metric_get", found.temperature);
  library.find("rsmi_dev_gpu_metrics_info_get", found.metrics);
  library.find("rsmi_dev_ecc_enabled_get", found.ecc_blocks);
  library.find("rsmi_dev_ecc_count_get", found.ecc_errors);
  return found;
}

struct Clocks {
  double now_mhz, most_mhz;
};

/// Detects the layout from the written data: the word that holds the index of the current frequency
/// in one layout is half of a frequency, in Hz, in the other.
std::optional<Clocks> clocks_in(const std::array<std::byte, 512>& written) {
  constexpr double hz = 1e-6;
  const auto from = [&]<typename Layout>(Layout layout) -> std::optional<Clocks> {
    std::memcpy(&layout, written.data(), sizeof layout);
    if (layout.count == 0 || layout.count > std::size(layout.hz) || layout.current >= layout.count)
      return std::nullopt;
    const auto most = *std::max_element(layout.hz, layout.hz + layout.count);
    return Clocks{static_cast<double>(layout.hz[layout.current]) * hz,
                  static_cast<double>(most) * hz};
  };
  if (const auto clocks = from(FrequenciesSince6{})) return clocks;
  return from(Frequencies{});
}

class RocmSmiSensors final : public GpuSensors {
 public:
  RocmSmiSensors(const SharedLibrary& library, std::uint32_t device)
      : device_(device), smi_(functions_of(library)) {}

  GpuReading read() override {
    GpuReading reading;
    read_load(reading);
    read_power(reading);
    reading.slowdowns = slowdowns();
    reading.ecc_errors = ecc_errors();
    if (!reading.utilisation && !reading.memory_total_bytes && !reading.power_w) {
      reading.trouble = "ROCm SMI no longer answers for it";
    }
    return reading;
  }

 private:
  template <typename Function, typename... Arguments>
  bool ask(Function* function, Arguments... arguments) const {
    return function != nullptr && function(device_, arguments...) == success;
  }

  void read_load(GpuReading& reading) const {
    constexpr double percent = 100;
    std::uint32_t busy = 0;
    if (ask(smi_.busy, &busy)) reading.utilisation = std::min(busy / percent, 1.0);
    std::uint64_t bytes = 0;
    if (ask(smi_.memory_used, video_memory, &bytes)) reading.memory_used_bytes = bytes;
    if (ask(smi_.memory_total, video_memory, &bytes)) reading.memory_total_bytes = bytes;
    std::array<std::byte, 512> written{};
    if (!ask(smi_.clocks, system_clock, static_cast<void*>(written.data()))) return;
    const auto clocks = clocks_in(written);
    if (!clocks) return;
    reading.sm_clock_mhz = clocks->now_mhz;
    reading.most_sm_clock_mhz = clocks->most_mhz;
  }

  void read_power(GpuReading& reading) const {
    constexpr double micro = 1e-6;
    constexpr double milli = 1e-3;
    std::uint64_t microwatts = 0;
    int kind = 0;
    if (ask(smi_.power, &microwatts, &kind) || ask(smi_.mean_power, first_sensor, &microwatts))
      reading.power_w = static_cast<double>(microwatts) * micro;
    if (ask(smi_.power_limit, first_sensor, &microwatts))
      reading.power_limit_w = static_cast<double>(microwatts) * micro;
    std::int64_t millidegrees = 0;
    if (ask(smi_.temperature, junction_sensor, current_temperature, &millidegrees) ||
        ask(smi_.temperature, edge_sensor, current_temperature, &millidegrees))
      reading.temperature_c = static_cast<double>(millidegrees) * milli;
  }

  std::optional<GpuSlowdowns> slowdowns() {
    metrics_.fill(std::byte{0xff});  // fields unknown to this release stay 0xff: not reported
    if (!ask(smi_.metrics, static_cast<void*>(metrics_.data()))) return std::nullopt;
    Metrics metrics{};
    std::memcpy(&metrics, metrics_.data(), sizeof metrics);
    if (metrics.format != 1 || metrics.content != 3 || ~metrics.slowed == 0) return std::nullopt;
    GpuSlowdowns found;
    for (const auto& [first, last, slowdown] : throttlers) {
      for (int bit = first; bit <= last; ++bit) {
        if (((metrics.slowed >> bit) & 1) != 0) found.add(slowdown);
      }
    }
    return found;
  }

  /// The sum over all blocks that count errors. Absent if none does.
  std::optional<std::uint64_t> ecc_errors() const {
    std::uint64_t blocks = 0;
    if (!ask(smi_.ecc_blocks, &blocks)) return std::nullopt;
    std::optional<std::uint64_t> errors;
    for (; blocks != 0; blocks &= blocks - 1) {
      ErrorCount count{};
      const std::uint64_t block = std::uint64_t{1} << std::countr_zero(blocks);
      if (ask(smi_.ecc_errors, block, &count)) errors = errors.value_or(0) + count.uncorrected;
    }
    return errors;
  }

  std::uint32_t device_;
  RocmSmiFunctions smi_;
  alignas(8) std::array<std::byte, most_metrics> metrics_ = {};
};

/// Converts "0000:c1:00.0" to the library's form, without the function, which holds a partition's
/// number.
std::optional<std::uint64_t> device_number(const std::string& pci) {
  std::array<std::uint64_t, 3> parts{};  // domain, bus, device
  const char* at = pci.data();
  const char* const end = at + pci.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i], 16);
    if (error != std::errc{} || (i < 2 && (next == end || *next != ':'))) return std::nullopt;
    at = next + 1;
  }
  return parts[0] << 32 | (parts[1] & 0xff) << 8 | (parts[2] & 0x1f) << 3;
}

/// Returns the GPU's first partition: partitions share its sensors.
Result<std::uint32_t> find_device(const SharedLibrary& library, const std::string& pci) {
  const auto unavailable = [](std::string why) {
    return Error{ErrorKind::unavailable, std::move(why), ""};
  };
  int (*init)(std::uint64_t) = nullptr;
  int (*device_count)(std::uint32_t*) = nullptr;
  int (*address)(std::uint32_t, std::uint64_t*) = nullptr;
  if (!library.find("rsmi_init", init) || !library.find("rsmi_num_monitor_devices", device_count) ||
      !library.find("rsmi_dev_pci_id_get", address))
    return unavailable("ROCm SMI lacks functions that every release has");
  if (const int status = init(0); status != success)
    return unavailable(
        fmt::format("rsmi_init failed with {}: is the amdgpu driver loaded?", status));
  std::uint32_t count = 0;
  if (const int status = device_count(&count); status != success)
    return unavailable(fmt::format("rsmi_num_monitor_devices failed with {}", status));
  const auto wanted = device_number(pci);
  constexpr std::uint64_t compared = 0xffffffff0000fff8;
  for (std::uint32_t device = 0; device < std::min(count, most_devices); ++device) {
    std::uint64_t bdf = 0;
    if (address(device, &bdf) == success && wanted && (bdf & compared) == *wanted) return device;
  }
  return unavailable(fmt::format("ROCm SMI knows no GPU {}", pci));
}

}  // namespace

Result<std::unique_ptr<GpuSensors>> open_rocm_smi_sensors(const std::string& pci,
                                                          const std::string& file) {
  const SharedLibrary library(file);
  if (!library.opened()) {
    return Error{ErrorKind::unavailable,
                 library.why().empty() ? file + " is not on this machine" : library.why(), ""};
  }
  auto device = find_device(library, pci);
  if (!device) return std::move(device).error();
  return std::unique_ptr<GpuSensors>(std::make_unique<RocmSmiSensors>(library, *device));
}

}  // namespace dllaunch
