#include "topology/discovery/sysfs_gpus.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "topology/node/gpu_order.hpp"
#include "topology/node/pci_gpu.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// "0x030200"
std::optional<int> hexadecimal(const std::string& text) {
  if (!text.starts_with("0x") || text.size() > 8) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(2)) {
    const auto digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<int>(digit);
  }
  return value;
}

// The device is a link into ROOT/devices: ".../pci0000:c0/0000:c0:01.1/0000:c1:00.0".
std::string path_above(const fs::path& device) {
  std::error_code none;
  const auto target = fs::read_symlink(device, none);
  std::string path;
  bool inside = false;
  for (const auto& part : target.parent_path()) {
    const auto step = part.string();
    const bool root = step.starts_with("pci");
    inside = inside || root;
    if (inside) path += (path.empty() ? "" : "/") + (root ? step.substr(3) : step);
  }
  return path;
}

int package_of(const Topology& node, const IdSet& cpus) {
  std::set<int> packages;
  for (const auto& core : node.cores)
    if (core.cpus.intersects(cpus)) packages.insert(core.package);
  return packages.size() == 1 ? *packages.begin() : -1;
}

}  // namespace

std::vector<Gpu> read_sysfs_gpus(const std::string& root, const Topology& node) {
  std::vector<fs::path> devices;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "bus/pci/devices", none))
    devices.push_back(entry.path());
  std::ranges::sort(devices);
  std::vector<Gpu> gpus;
  for (const auto& device : devices) {
    // Base class, subclass and programming interface, two digits each.
    const auto device_class = hexadecimal(first_line(device / "class"));
    const auto vendor = hexadecimal(first_line(device / "vendor"));
    if (!device_class || !vendor) continue;
    const auto model = hexadecimal(first_line(device / "device"));
    if (!is_pci_gpu({*device_class >> 8, *vendor, model.value_or(0)})) continue;
    Gpu gpu{.index = unnumbered_gpu,
            .vendor = pci_gpu_vendor(*vendor),
            .pci = device.filename().string(),
            .pci_path = path_above(device)};
    const auto cpus = parse_id_list(first_line(device / "local_cpulist"));
    if (cpus) gpu.cpus = *cpus & node.cpus();
    const auto numa = parse_id_list(first_line(device / "numa_node"));  // "-1": unknown
    if (numa) gpu.numa = *numa;
    gpu.package = package_of(node, gpu.cpus);
    gpus.push_back(std::move(gpu));
  }
  number_and_sort(gpus);
  return gpus;
}

}  // namespace dllaunch
