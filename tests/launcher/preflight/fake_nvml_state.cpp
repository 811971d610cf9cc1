// Stands in for libnvidia-ml.so.1 where there is no NVIDIA GPU: two GPUs and the faults that
// pre-flight has to see. DLLAUNCH_FAKE_GPUS chooses: "" (both well), hang, no-driver, lost (the
// second), full, hot, ecc, remap, narrow, old (a driver that knows only the least); of sensors that
// are read again and again also xid (two errors of the second, the latter twice), ecc-grows,
// lost-later and hang-later (from the third reading on).
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace {

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct EventData {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance = ~0U, compute_instance = ~0U;
};

constexpr int not_supported = 3;
constexpr int too_small = 7;
constexpr int not_found = 6;
constexpr int time_out = 10;
constexpr int lost = 15;

std::atomic<int> readings{0};
std::atomic<int> events{0};
std::atomic<int> ecc_readings{0};

bool asked_for(std::string_view what) {
  const char* chosen = std::getenv("DLLAUNCH_FAKE_GPUS");
  return chosen != nullptr && what == chosen;
}

/// The faults are the second GPU's.
bool has(void* device, std::string_view fault) {
  return reinterpret_cast<long>(device) == 2 && asked_for(fault);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the library's own names
extern "C" {

int nvmlInit_v2() {
  if (asked_for("hang"))
    for (;;) pause();
  return asked_for("no-driver") ? 9 : 0;
}
const char* nvmlErrorString(int status) {
  return status == lost ? "GPU is lost" : "Driver Not Loaded";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (asked_for("lost") && index == 1) return lost;
  *device = reinterpret_cast<void*>(static_cast<long>(index) + 1);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  const std::string_view pci = address;
  if (pci != "0000:07:00.0" && pci != "0000:0f:00.0") return not_found;
  if (asked_for("lost") && pci == "0000:0f:00.0") return lost;
  *device = reinterpret_cast<void*>(pci == "0000:07:00.0" ? 1L : 2L);
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned* percent) {
  const int reading = ++readings;
  if (asked_for("hang-later") && reading > 2)
    for (;;) pause();
  percent[0] = reinterpret_cast<long>(device) == 1 ? 75 : 50;
  percent[1] = 10;
  if (asked_for("lost-later") && reading > 2) return lost;
  return asked_for("old") ? not_supported : 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = reinterpret_cast<long>(device) == 1 ? 412500 : 300000;
  return asked_for("old") ? not_supported : 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return asked_for("old") ? not_supported : 0;
}
int nvmlDeviceGetClockInfo(void* device, unsigned, unsigned* mhz) {
  *mhz = has(device, "hot") ? 660 : 1755;
  return asked_for("old") ? not_supported : 0;
}
int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* celsius) {
  *celsius = has(device, "hot") ? 91 : 54;
  return asked_for("old") ? not_supported : 0;
}
int nvmlEventSetCreate(void** set) {
  *set = reinterpret_cast<void*>(1L);
  return 0;
}
int nvmlEventSetFree(void*) {
  return 0;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
  if (types != 8 || asked_for("old")) return not_supported;
  events = has(device, "xid") ? 3 : 0;
  return set == nullptr ? not_found : 0;
}
int nvmlEventSetWait_v2(void*, EventData* event, unsigned) {
  if (events == 0) return time_out;
  *event = {.device = nullptr, .type = 8, .data = events-- == 3 ? 31ULL : 79ULL};
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
  *pci = {};
  pci->bus = reinterpret_cast<long>(device) == 1 ? 0x07 : 0x0f;
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "Fake GPU");
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-%ld", reinterpret_cast<long>(device));
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, MemoryInfo* memory) {
  memory->total = 80ULL << 30;
  memory->used = has(device, "full") ? 30ULL << 30 : 500ULL << 20;
  memory->free = memory->total - memory->used;
  return asked_for("old") ? not_supported : 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void*) {
  const unsigned running = has(device, "full") ? 3 : 0;
  const bool fits = *count >= running;
  *count = running;
  return fits ? 0 : too_small;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = has(device, "hot") ? 0x48 : 0x1;
  return asked_for("old") ? not_supported : 0;
}
int nvmlDeviceGetApplicationsClock(void* device, unsigned, unsigned* mhz) {
  *mhz = has(device, "slow-clock") ? 900 : 1980;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, unsigned, unsigned* mhz) {
  *mhz = 1980;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned, unsigned, unsigned long long* errors) {
  *errors = has(device, "ecc") ? 4 : 0;
  if (has(device, "ecc-grows")) *errors = ++ecc_readings == 1 ? 1 : 3;
  return 0;
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* broken,
                              unsigned* pending, unsigned* failed) {
  *corrected = *broken = *failed = 0;
  *pending = has(device, "remap") ? 1 : 0;
  return 0;
}
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* width) {
  *width = has(device, "narrow") ? 8 : 16;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
  *width = 16;
  return 0;
}

/// No function of the library: how often the sensors of this process were asked so far.
int dllaunch_fake_readings() {
  return readings;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
