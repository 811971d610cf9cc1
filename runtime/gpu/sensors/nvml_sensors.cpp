#include "runtime/gpu/sensors/nvml_sensors.hpp"

#include <fmt/core.h>

#include <utility>

#include "topology/discovery/nvml_library.hpp"

namespace dllaunch {
namespace {

// ---- numbers and structures of nvml.h (CUDA 12.9; none of them has ever changed) ------------

struct Utilization {
  unsigned gpu, memory;  // percent
};

struct EventData {
  NvmlDevice device;
  unsigned long long type;
  unsigned long long data;  // of an XID: its number
  unsigned gpu_instance, compute_instance;
};

constexpr int gpu_is_lost = 15;
constexpr int reset_required = 16;
constexpr unsigned gpu_sensor = 0;
constexpr unsigned long long xid_event = 0x8;
constexpr int most_events = 64;  // per reading

struct ClockEventReason {
  unsigned long long bit;
  GpuSlowdown slowdown;
};
// nvmlClocksEventReasons, without idle (0x1), user-set clocks (0x2) and display clocks (0x100).
constexpr ClockEventReason clock_event_reasons[] = {
    {0x4, GpuSlowdown::power_cap},   {0x8, GpuSlowdown::hardware},
    {0x10, GpuSlowdown::sync_boost}, {0x20, GpuSlowdown::thermal},  // by software
    {0x40, GpuSlowdown::thermal},                                   // by hardware
    {0x80, GpuSlowdown::power_brake}};

/// NvmlFunctions that an old driver may lack.
struct NvmlFunctions {
  int (*utilization)(NvmlDevice, Utilization*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*power)(NvmlDevice, unsigned* milliwatts) = nullptr;
  int (*power_limit)(NvmlDevice, unsigned* milliwatts) = nullptr;
  int (*clock)(NvmlDevice, unsigned kind, unsigned* mhz) = nullptr;
  int (*most_clock)(NvmlDevice, unsigned kind, unsigned* mhz) = nullptr;
  int (*temperature)(NvmlDevice, unsigned sensor, unsigned* celsius) = nullptr;
  int (*slowed)(NvmlDevice, unsigned long long* bits) = nullptr;
  int (*ecc_errors)(NvmlDevice, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*create_events)(void**) = nullptr;
  int (*register_events)(NvmlDevice, unsigned long long, void*) = nullptr;
  int (*wait_for_event)(void*, EventData*, unsigned milliseconds) = nullptr;
  int (*free_events)(void*) = nullptr;
};

NvmlFunctions functions_of(const NvmlLibrary& library) {
  NvmlFunctions found;
  library.find("nvmlDeviceGetUtilizationRates", found.utilization);
  library.find("nvmlDeviceGetMemoryInfo", found.memory);
  library.find("nvmlDeviceGetPowerUsage", found.power);
  library.find("nvmlDeviceGetEnforcedPowerLimit", found.power_limit);
  library.find("nvmlDeviceGetClockInfo", found.clock);
  library.find("nvmlDeviceGetMaxClockInfo", found.most_clock);
  library.find("nvmlDeviceGetTemperature", found.temperature);
  // Renamed in CUDA 12; the old name remains.
  if (!library.find("nvmlDeviceGetCurrentClocksEventReasons", found.slowed))
    library.find("nvmlDeviceGetCurrentClocksThrottleReasons", found.slowed);
  library.find("nvmlDeviceGetTotalEccErrors", found.ecc_errors);
  library.find("nvmlEventSetCreate", found.create_events);
  library.find("nvmlDeviceRegisterEvents", found.register_events);
  library.find("nvmlEventSetWait_v2", found.wait_for_event);
  library.find("nvmlEventSetFree", found.free_events);
  return found;
}

class NvmlSensors final : public GpuSensors {
 public:
  NvmlSensors(NvmlLibrary library, NvmlDevice device)
      : library_(std::move(library)), device_(device), nvml_(functions_of(library_)) {
    listen();
  }
  ~NvmlSensors() override {
    if (events_ != nullptr) nvml_.free_events(events_);
  }
  NvmlSensors(const NvmlSensors&) = delete;
  NvmlSensors& operator=(const NvmlSensors&) = delete;

  GpuReading read() override {
    trouble_ = nvml_success;
    GpuReading reading;
    read_load(reading);
    read_power(reading);
    read_health(reading);
    // Last: it may include an error met by the calls above.
    reading.xids = take_xids();
    if (trouble_ != nvml_success) reading.trouble = library_.why_not("NVML", trouble_);
    return reading;
  }

 private:
  /// Whether the library has the function and it succeeded. Failures other than a lost GPU count as
  /// no answer: not supported, not permitted.
  template <typename Function, typename... Arguments>
  bool ask(Function* function, Arguments... arguments) {
    if (function == nullptr) return false;
    const int status = function(device_, arguments...);
    if (status == gpu_is_lost || status == reset_required) trouble_ = status;
    return status == nvml_success;
  }

  void listen() {
    if (nvml_.create_events == nullptr || nvml_.register_events == nullptr ||
        nvml_.wait_for_event == nullptr || nvml_.free_events == nullptr)
      return;
    void* events = nullptr;
    if (nvml_.create_events(&events) != nvml_success) return;
    if (nvml_.register_events(device_, xid_event, events) == nvml_success) {
      events_ = events;
    } else {
      nvml_.free_events(events);
    }
  }

  void read_load(GpuReading& reading) {
    constexpr double percent = 100;
    Utilization utilization{};
    // Not reported for a GPU with MIG instances.
    if (ask(nvml_.utilization, &utilization)) reading.utilisation = utilization.gpu / percent;
    NvmlMemory memory{};
    if (ask(nvml_.memory, &memory)) {
      reading.memory_used_bytes = memory.used;
      reading.memory_total_bytes = memory.total;
    }
    unsigned mhz = 0;
    if (ask(nvml_.clock, nvml_sm_clock, &mhz)) reading.sm_clock_mhz = mhz;
    if (ask(nvml_.most_clock, nvml_sm_clock, &mhz)) reading.most_sm_clock_mhz = mhz;
  }

  void read_power(GpuReading& reading) {
    constexpr double milli = 1e-3;
    unsigned milliwatts = 0;
    if (ask(nvml_.power, &milliwatts)) reading.power_w = milliwatts * milli;
    if (ask(nvml_.power_limit, &milliwatts)) reading.power_limit_w = milliwatts * milli;
    unsigned celsius = 0;
    if (ask(nvml_.temperature, gpu_sensor, &celsius)) reading.temperature_c = celsius;
  }

  void read_health(GpuReading& reading) {
    unsigned long long bits = 0;
    if (ask(nvml_.slowed, &bits)) {
      GpuSlowdowns slowdowns;
      for (const auto& [bit, slowdown] : clock_event_reasons) {
        if ((bits & bit) != 0) slowdowns.add(slowdown);
      }
      reading.slowdowns = slowdowns;
    }
    unsigned long long errors = 0;
    if (ask(nvml_.ecc_errors, nvml_uncorrected, nvml_since_boot, &errors)) {
      reading.ecc_errors = errors;
    }
  }

  /// Non-blocking. Absent if events are not registered.
  std::optional<std::vector<unsigned>> take_xids() {
    if (events_ == nullptr) return std::nullopt;
    std::vector<unsigned> xids;
    for (int i = 0; i < most_events; ++i) {
      EventData event{};
      if (nvml_.wait_for_event(events_, &event, 0) != nvml_success) break;
      if ((event.type & xid_event) != 0) xids.push_back(static_cast<unsigned>(event.data));
    }
    return xids;
  }

  NvmlLibrary library_;
  NvmlDevice device_;
  NvmlFunctions nvml_;
  void* events_ = nullptr;
  int trouble_ = nvml_success;
};

}  // namespace

Result<std::unique_ptr<GpuSensors>> open_nvml_sensors(const std::string& pci,
                                                      const std::string& file) {
  NvmlLibrary library(file);
  if (!library.why().empty()) return Error{ErrorKind::unavailable, library.why(), ""};
  auto device = library.device_at(pci);
  if (!device) return std::move(device).error();
  return std::unique_ptr<GpuSensors>(std::make_unique<NvmlSensors>(std::move(library), *device));
}

}  // namespace dllaunch
