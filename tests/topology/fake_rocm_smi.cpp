// Stands in for librocm_smi64.so where there is no AMD GPU: the same C symbols, answers of a
// machine that never was. DLLAUNCH_FAKE_GPUS chooses: "" (two whole GPUs, the second at the lower
// address), cpx (each cut in three), hang, crash.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace {

bool asked_for(std::string_view what) {
  const char* chosen = std::getenv("DLLAUNCH_FAKE_GPUS");
  return chosen != nullptr && what == chosen;
}

std::uint32_t parts() {
  return asked_for("cpx") ? 3 : 1;
}

}  // namespace

extern "C" {

int rsmi_init(std::uint64_t) {
  if (asked_for("hang"))
    for (;;) pause();
  if (asked_for("crash")) std::abort();
  return 0;
}

int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = 2 * parts();
  return 0;
}

int rsmi_dev_pci_id_get(std::uint32_t device, std::uint64_t* address) {
  const std::uint64_t bus = device / parts() == 0 ? 0xc1 : 0x11;
  const std::uint64_t domain = 2;
  *address = domain << 32 | bus << 8 | device % parts();
  return 0;
}

int rsmi_version_str_get(int, char* text, std::uint32_t size) {
  std::snprintf(text, size, "6.8.5");
  return 0;
}

int rsmi_dev_name_get(std::uint32_t, char* text, std::size_t size) {
  std::snprintf(text, size, "Fake \xff Instinct");
  return 0;
}

int rsmi_dev_unique_id_get(std::uint32_t device, std::uint64_t* id) {
  *id = 0xabc0 + device;
  return 0;
}

int rsmi_dev_compute_partition_get(std::uint32_t, char* text, std::uint32_t size) {
  std::snprintf(text, size, asked_for("cpx") ? "CPX" : "SPX");
  return 0;
}

int rsmi_dev_memory_partition_get(std::uint32_t, char* text, std::uint32_t size) {
  std::snprintf(text, size, "NPS1");
  return 0;
}

int rsmi_topo_get_link_type(std::uint32_t a, std::uint32_t b, std::uint64_t* hops, int* type) {
  *hops = 1;
  *type = a / parts() == b / parts() ? 1 : 2;
  return 0;
}

int rsmi_minmax_bandwidth_get(std::uint32_t, std::uint32_t, std::uint64_t* least,
                              std::uint64_t* most) {
  *least = 50000;
  *most = 200000;
  return 0;
}

int rsmi_is_P2P_accessible(std::uint32_t, std::uint32_t, bool* accessible) {
  *accessible = true;
  return 0;
}

}  // extern "C"
