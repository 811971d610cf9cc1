// A fake librocm_smi64.so for machines without an AMD GPU: the same C symbols, a fictitious
// machine. DLLAUNCH_FAKE_GPUS selects: "" (two whole GPUs, the second at the lower address), cpx
// (each split in three), hang, crash. For sensors also: since6 (the layouts of ROCm 6), hot,
// new-metrics (of an MI300, which does not report reasons this way), gone (nothing answers).
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace {

bool asked_for(std::string_view what) {
  const char* chosen = std::getenv("DLLAUNCH_FAKE_GPUS");
  return chosen != nullptr && what == chosen;
}

constexpr int not_supported = 2;

int missing() {
  return asked_for("gone") ? not_supported : 0;
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

int rsmi_dev_busy_percent_get(std::uint32_t, std::uint32_t* percent) {
  *percent = 62;
  return missing();
}

int rsmi_dev_memory_total_get(std::uint32_t, int kind, std::uint64_t* bytes) {
  *bytes = std::uint64_t{64} << 30;
  return kind == 0 ? missing() : not_supported;
}

int rsmi_dev_memory_usage_get(std::uint32_t, int kind, std::uint64_t* bytes) {
  *bytes = std::uint64_t{5} << 30;
  return kind == 0 ? missing() : not_supported;
}

int rsmi_dev_power_ave_get(std::uint32_t, std::uint32_t sensor, std::uint64_t* microwatts) {
  *microwatts = 310000000;
  return sensor == 0 ? missing() : not_supported;
}

int rsmi_dev_power_cap_get(std::uint32_t, std::uint32_t sensor, std::uint64_t* microwatts) {
  *microwatts = 560000000;
  return sensor == 0 ? missing() : not_supported;
}

int rsmi_dev_gpu_clk_freq_get(std::uint32_t, int kind, void* frequencies) {
  constexpr std::uint64_t hz[] = {500000000, 1395000000, 1700000000};
  constexpr std::uint32_t head[] = {1, 3, 1, 0};  // has_deep_sleep, count, current
  if (kind != 0) return not_supported;
  auto* at = static_cast<char*>(frequencies);
  if (asked_for("since6")) {
    std::memcpy(at, head, sizeof head);
    std::memcpy(at + 16, hz, sizeof hz);
  } else {
    std::memcpy(at, head + 1, 8);
    std::memcpy(at + 8, hz, sizeof hz);
  }
  return missing();
}

int rsmi_dev_temp_metric_get(std::uint32_t, std::uint32_t sensor, int metric,
                             std::int64_t* millidegrees) {
  *millidegrees = asked_for("hot") ? 105000 : 61500;
  return sensor == 1 && metric == 0 ? missing() : not_supported;
}

int rsmi_dev_gpu_metrics_info_get(std::uint32_t, void* metrics) {
  auto* at = static_cast<unsigned char*>(metrics);
  at[2] = 1;                                 // format
  at[3] = asked_for("new-metrics") ? 5 : 3;  // content
  // A power limit (PPT0), a current limit (TDC_GFX) and a hot junction.
  const std::uint64_t slowed = asked_for("hot") ? 1ULL | 1ULL << 16 | 1ULL << 36 : 0;
  std::memcpy(at + 112, &slowed, sizeof slowed);
  return missing();
}

int rsmi_dev_ecc_enabled_get(std::uint32_t, std::uint64_t* blocks) {
  *blocks = 0x1 | 0x4 | 0x8;
  return missing();
}

int rsmi_dev_ecc_count_get(std::uint32_t, std::uint64_t block, std::uint64_t* counts) {
  counts[0] = 100;                       // corrected
  counts[1] = asked_for("hot") ? 2 : 0;  // not corrected
  return block == 0x8 ? not_supported : missing();
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
