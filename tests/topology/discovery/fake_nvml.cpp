// A fake libnvidia-ml.so.1 for machines without an NVIDIA GPU: the same C symbols, a fictitious
// machine, and the faults we must survive. DLLAUNCH_FAKE_GPUS selects: "" (four GPUs), mig, hang,
// crash, no-driver, lost.
//
// Four GPUs in two PCI domains with equal buses. Four NVLinks join the first two; twelve each join
// the other two to a switch.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace {

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int lost = 15;

bool asked_for(std::string_view what) {
  const char* chosen = std::getenv("DLLAUNCH_FAKE_GPUS");
  return chosen != nullptr && what == chosen;
}

// Handles: 1 .. 4 are GPUs, 20 and 23 the MIG instances of the second.
long number(void* device) {
  return reinterpret_cast<long>(device);
}

void* handle(long number) {
  return reinterpret_cast<void*>(number);
}

PciInfo pci_of(long gpu) {
  PciInfo pci{};
  pci.domain = gpu > 2 ? 1 : 0;
  pci.bus = gpu % 2 == 1 ? 0x07 : 0x0f;
  std::snprintf(pci.bus_id, sizeof pci.bus_id, "%08X:%02X:00.0", pci.domain, pci.bus);
  return pci;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (asked_for("hang"))
    for (;;) pause();
  if (asked_for("crash")) std::raise(SIGSEGV);
  return asked_for("no-driver") ? 9 : 0;
}

const char* nvmlErrorString(int) {
  return "Driver Not Loaded";
}

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "550.54.15");
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 4;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (asked_for("lost") && index == 1) return lost;
  *device = handle(static_cast<long>(index) + 1);
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  if (std::string_view(address) != "0000:07:00.0") return not_found;
  *device = handle(1);
  return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* pci) {
  *pci = pci_of(number(device));
  return 0;
}

int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  std::snprintf(text, size, number(device) >= 20 ? "Fake GPU MIG 3g.40gb" : "Fake GPU");
  return 0;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  std::snprintf(text, size, number(device) >= 20 ? "MIG-%ld" : "GPU-%ld", number(device));
  return 0;
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = asked_for("mig") && number(device) == 2 ? 1 : 0;
  return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** instance) {
  // Slots of removed instances stay empty.
  if (number(device) != 2 || (index != 0 && index != 3)) return not_found;
  *instance = handle(20 + static_cast<long>(index));
  return 0;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (link >= 12) return not_supported;
  *active = number(device) > 2 || link < 4 ? 1 : 0;
  return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo* pci) {
  *pci = pci_of(number(device) == 1 ? 2 : 1);
  if (number(device) > 2) pci->bus = 0xc0;
  return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned, unsigned* type) {
  *type = number(device) > 2 ? 2 : 0;
  return 0;
}

int nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, unsigned* level) {
  *level = (number(a) > 2) == (number(b) > 2) ? 20 : 50;
  return 0;
}

int nvmlDeviceGetP2PStatus(void* a, void* b, unsigned, unsigned* status) {
  *status = (number(a) > 2) == (number(b) > 2) ? 0 : 1;
  return 0;
}

}  // extern "C"
