#include "topology/discovery/discover_hwloc.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <hwloc.h>

#include "support/file_text.hpp"
#include "support/isolated_call.hpp"
#include "support/json.hpp"
#include "support/parse_number.hpp"
#include "topology/discovery/discover_hwloc_handle.hpp"
#include "topology/discovery/own_affinity.hpp"
#include "topology/discovery/sysfs_gpus.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/node/gpu_order.hpp"
#include "topology/node/pci_gpu.hpp"

namespace dllaunch {
namespace {

using PciDevice = decltype(hwloc_obj_attr_u::pcidev);

// ---- sets, addresses, names -----------------------------------------------------------------

IdSet to_ids(hwloc_const_bitmap_t bitmap) {
  IdSet set;
  // An infinite set means "all" and cannot be listed.
  if (bitmap == nullptr || hwloc_bitmap_weight(bitmap) < 0) return set;
  for (int id = hwloc_bitmap_first(bitmap); id >= 0 && id <= IdSet::max_id;
       id = hwloc_bitmap_next(bitmap, id))
    set.insert(id);
  return set;
}

std::string pci_text(const PciDevice& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

std::string_view text_of(const char* text) {
  return text == nullptr ? "" : text;
}

// Names go into JSON and onto terminals; a damaged file may hold any byte.
std::string printable(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

std::string info_of(hwloc_obj_t object, const char* name) {
  return printable(text_of(hwloc_obj_get_info_by_name(object, name)));
}

// "rsmi4" is number 4 of "rsmi", "opencl0d3" number 3 of "opencl0d".
struct NumberedName {
  std::string_view stem;
  std::optional<int> number;
};

NumberedName numbered(std::string_view name) {
  const auto last = name.find_last_not_of("0123456789");
  const auto stem = name.substr(0, last == std::string_view::npos ? 0 : last + 1);
  const auto number = parse_number<int>(name.substr(stem.size()));
  if (!number || *number > IdSet::max_id) return {stem, {}};
  return {stem, *number};
}

hwloc_obj_t ancestor_of(hwloc_obj_t object, hwloc_obj_type_t type) {
  while (object != nullptr && object->type != type) object = object->parent;
  return object;
}

// Packages and the like have their own numbers, unless the system reported none.
int number_of(hwloc_obj_t object) {
  if (object == nullptr) return -1;
  const auto number =
      object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index : object->os_index;
  return number <= static_cast<unsigned>(IdSet::max_id) ? static_cast<int>(number) : -1;
}

// ---- CPUs and memory ------------------------------------------------------------------------

void read_cores(hwloc_topology_t from, Topology& topology) {
  struct Found {
    Core core;
    hwloc_obj_t l3;
  };
  std::vector<Found> found;
  std::map<hwloc_obj_t, std::size_t> by_object;
  for (hwloc_obj_t pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_PU, pu)) != nullptr;) {
    if (pu->os_index > static_cast<unsigned>(IdSet::max_id)) continue;
    // Some captures have no cores: each CPU then counts as one.
    const auto object = ancestor_of(pu, HWLOC_OBJ_CORE);
    const auto [slot, is_new] =
        by_object.try_emplace(object == nullptr ? pu : object, found.size());
    if (is_new) {
      const auto l3 = ancestor_of(pu, HWLOC_OBJ_L3CACHE);
      Core core{.package = number_of(ancestor_of(pu, HWLOC_OBJ_PACKAGE))};
      // complete_cpuset includes CPUs that the site disallows.
      core.opens_l3 =
          l3 != nullptr &&
          hwloc_bitmap_isset(slot->first->complete_cpuset,
                             static_cast<unsigned>(hwloc_bitmap_first(l3->complete_cpuset)));
      found.push_back({std::move(core), l3});
    }
    found[slot->second].core.cpus.insert(static_cast<int>(pu->os_index));
  }
  std::ranges::sort(found, [](const Found& a, const Found& b) {
    return a.core.cpus.first() < b.core.cpus.first();
  });
  std::map<hwloc_obj_t, int> l3_ordinal;
  for (auto& [core, l3] : found) {
    if (l3 != nullptr)
      core.l3 = l3_ordinal.try_emplace(l3, static_cast<int>(l3_ordinal.size())).first->second;
    topology.cores.push_back(std::move(core));
  }
}

std::string memory_kind(hwloc_obj_t node) {
  const auto subtype = text_of(node->subtype);
  if (subtype == "HBM" || subtype == "MCDRAM") return "hbm";
  if (subtype == "GPUMemory") return "gpu";
  return "dram";
}

// hwloc gives HBM and GPU memory the CPUs of their package. These CPUs belong to the DRAM node
// there, or to the first node if all are of one kind.
void give_cpus_to_one_node(std::vector<NumaNode>& nodes) {
  std::vector<NumaNode*> by_claim;
  by_claim.reserve(nodes.size());
  for (auto& node : nodes) by_claim.push_back(&node);
  const auto rank = [](const NumaNode* node) {
    return std::tuple(node->kind == "gpu" ? 2 : node->kind == "hbm" ? 1 : 0, node->index);
  };
  std::ranges::sort(by_claim,
                    [&](const NumaNode* a, const NumaNode* b) { return rank(a) < rank(b); });
  IdSet taken;
  for (auto* node : by_claim) {
    if (node->kind == "gpu") node->cpus = {};
    node->cpus -= taken;
    taken |= node->cpus;
  }
}

// A virtual machine may be told of NUMA nodes that lie across its packages: hwloc then gives every
// one of them all CPUs. Memory beside such nodes, as CXL's, has no nodes of a package within.
bool cross_packages(hwloc_topology_t from, const std::vector<NumaNode>& nodes) {
  const auto spans_packages = [from](const IdSet& cpus) {
    int packages = 0;
    for (hwloc_obj_t package = nullptr;
         (package = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_PACKAGE, package)) != nullptr;)
      packages += to_ids(package->cpuset).intersects(cpus) ? 1 : 0;
    return packages > 1;
  };
  const auto is_dram = [](const NumaNode& node) {
    return node.kind == "dram" && !node.cpus.empty();
  };
  const auto first = std::ranges::find_if(nodes, is_dram);
  if (first == nodes.end()) return false;
  const bool alike = std::ranges::all_of(
      nodes, [&](const NumaNode& node) { return !is_dram(node) || node.cpus == first->cpus; });
  return alike && std::ranges::count_if(nodes, is_dram) > 1 && spans_packages(first->cpus);
}

void read_numa(hwloc_topology_t from, Topology& topology) {
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (number_of(node) < 0) continue;
    topology.numa.push_back({.index = number_of(node),
                             .cpus = to_ids(node->cpuset),
                             .memory_bytes = node->attr->numanode.local_memory,
                             .kind = memory_kind(node)});
  }
  std::ranges::sort(topology.numa, {}, &NumaNode::index);
  // Which memory is near a CPU is not known then: it is near none.
  if (cross_packages(from, topology.numa))
    for (NumaNode& node : topology.numa) node.cpus = {};
  give_cpus_to_one_node(topology.numa);
}

// ---- devices --------------------------------------------------------------------------------

// Where a device is attached: its CPUs and bridges.
struct Place {
  IdSet cpus;
  IdSet numa;
  int package = -1;
  std::string pci_path;
};

Place place_of(hwloc_topology_t from, const Topology& topology, hwloc_obj_t device) {
  const auto ancestor = hwloc_get_non_io_ancestor_obj(from, device);
  Place place{.cpus = to_ids(ancestor->cpuset),
              .numa = to_ids(ancestor->nodeset),
              .package = number_of(ancestor_of(ancestor, HWLOC_OBJ_PACKAGE)),
              .pci_path = {}};
  for (const auto& node : topology.numa)
    if (node.kind == "gpu") place.numa.erase(node.index);
  for (auto above = device->parent; above != nullptr && above->type == HWLOC_OBJ_BRIDGE;
       above = above->parent) {
    const auto& bridge = above->attr->bridge;
    const auto step = bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI
                          ? pci_text(bridge.upstream.pci)
                          : fmt::format("{:04x}:{:02x}", bridge.downstream.pci.domain,
                                        bridge.downstream.pci.secondary_bus);
    place.pci_path = place.pci_path.empty() ? step : step + "/" + place.pci_path;
  }
  return place;
}

// What the GPU runtimes report for one PCI device, in order of whose numbering takes precedence.
constexpr std::array<std::string_view, 4> runtimes{"rsmi", "nvml", "ze", "cuda"};

struct RuntimeView {
  // Numbers with UUIDs, if any.
  std::array<std::vector<std::pair<int, std::string>>, runtimes.size()> numbers;
  std::string name;
  std::string vendor;
};

std::string vendor_named(const std::string& text) {
  if (text.find("NVIDIA") != std::string::npos) return "nvidia";
  if (text.find("AMD") != std::string_view::npos ||
      text.find("Advanced Micro") != std::string_view::npos)
    return "amd";
  if (text.find("Intel") != std::string_view::npos) return "intel";
  return "";
}

RuntimeView runtime_view(hwloc_obj_t device) {
  constexpr std::array<std::string_view, runtimes.size()> vendors{"amd", "nvidia", "intel",
                                                                  "nvidia"};
  RuntimeView view;
  // Children of an osdev (the tiles of a Level Zero device) are parts of it, not GPUs.
  for (auto osdev = device->io_first_child; osdev != nullptr; osdev = osdev->next_sibling) {
    if (osdev->type != HWLOC_OBJ_OS_DEVICE) continue;
    for (const auto* key : {"GPUModel", "LevelZeroModel"})
      if (view.name.empty()) view.name = info_of(osdev, key);
    if (view.vendor.empty()) view.vendor = vendor_named(info_of(osdev, "GPUVendor"));
    const auto [stem, number] = numbered(text_of(osdev->name));
    const auto runtime = std::ranges::find(runtimes, stem);
    if (runtime == runtimes.end() || !number) continue;
    const auto r = static_cast<std::size_t>(runtime - runtimes.begin());
    view.numbers[r].emplace_back(*number,
                                 info_of(osdev, stem == "rsmi" ? "AMDUUID" : "NVIDIAUUID"));
    if (view.vendor.empty()) view.vendor = vendors[r];
  }
  for (auto& numbers : view.numbers) std::ranges::sort(numbers);
  if (view.name.empty()) view.name = info_of(device, "PCIDevice");
  return view;
}

std::string vendor_of(const PciDevice& pci, const RuntimeView& view) {
  auto maker = pci_gpu_vendor(pci.vendor_id);
  if (maker != "other") return maker;
  return view.vendor.empty() ? "other" : view.vendor;
}

// PCI addresses of GPUs whose memory is a NUMA node; only NVIDIA's are captured so.
std::vector<std::string> gpus_with_numa_memory(hwloc_topology_t from) {
  std::vector<std::string> addresses;
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(from, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    if (memory_kind(node) == "gpu") addresses.emplace_back(info_of(node, "PCIBusID"));
  return addresses;
}

void read_gpus(hwloc_topology_t from, Topology& topology) {
  std::vector<hwloc_obj_t> devices;
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(from, device)) != nullptr;)
    if (is_pci_gpu({.class_id = device->attr->pcidev.class_id,
                    .vendor_id = device->attr->pcidev.vendor_id,
                    .device_id = device->attr->pcidev.device_id}))
      devices.push_back(device);
  std::ranges::sort(devices, [](hwloc_obj_t a, hwloc_obj_t b) {
    return pci_text(a->attr->pcidev) < pci_text(b->attr->pcidev);
  });
  const auto nvidia = gpus_with_numa_memory(from);
  for (const auto device : devices) {
    const auto view = runtime_view(device);
    std::size_t parts = 1;
    for (const auto& numbers : view.numbers) parts = std::max(parts, numbers.size());
    const auto numbers =
        std::ranges::find_if(view.numbers, [](const auto& list) { return !list.empty(); });
    const auto place = place_of(from, topology, device);
    Gpu gpu{.index = -1,
            .name = view.name,
            .vendor = vendor_of(device->attr->pcidev, view),
            .pci = pci_text(device->attr->pcidev),
            .cpus = place.cpus,
            .numa = place.numa,
            .package = place.package,
            .pci_path = place.pci_path};
    if (gpu.vendor == "other" && std::ranges::find(nvidia, gpu.pci) != nvidia.end())
      gpu.vendor = "nvidia";
    for (std::size_t part = 0; part < parts; ++part) {
      gpu.partition = parts > 1 ? static_cast<int>(part) : -1;
      const bool seen = numbers != view.numbers.end() && part < numbers->size();
      gpu.index = seen ? (*numbers)[part].first : unnumbered_gpu;
      gpu.uuid = seen ? (*numbers)[part].second : "";
      topology.gpus.push_back(gpu);
    }
  }
  number_and_sort(topology.gpus);
}

bool is_fabric(hwloc_obj_t osdev, hwloc_obj_t device) {
  if (osdev->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) return true;
  const auto name = text_of(osdev->name);
  if (text_of(osdev->subtype) == "Slingshot" || name.starts_with("hsn") || name.starts_with("hsi"))
    return true;
  // InfiniBand seen by an hwloc without OpenFabrics; Cray's NICs.
  return device != nullptr &&
         (device->attr->pcidev.class_id == 0x0207 || device->attr->pcidev.vendor_id == 0x17db);
}

void read_nics(hwloc_topology_t from, Topology& topology) {
  struct Found {
    Nic nic;
    bool named_by_fabric;
  };
  std::map<hwloc_obj_t, Found> found;  // one for each PCI function or virtual device
  for (hwloc_obj_t osdev = nullptr; (osdev = hwloc_get_next_osdev(from, osdev)) != nullptr;) {
    const auto type = osdev->attr->osdev.type;
    const bool openfabrics = type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    if (type != HWLOC_OBJ_OSDEV_NETWORK && !openfabrics) continue;
    const auto device = ancestor_of(osdev, HWLOC_OBJ_PCI_DEVICE);
    const auto key = device == nullptr ? osdev : device;
    const auto [slot, is_new] = found.try_emplace(key);
    auto& [nic, named_by_fabric] = slot->second;
    const auto name = printable(text_of(osdev->name));
    if (is_new) {
      auto place = place_of(from, topology, key);
      nic = {.name = name,
             .pci = device == nullptr ? "" : pci_text(device->attr->pcidev),
             .numa = std::move(place.numa),
             .cpus = std::move(place.cpus),
             .fabric = false,
             .pci_path = std::move(place.pci_path)};
      named_by_fabric = openfabrics;
    } else if (std::tuple(!openfabrics, name) < std::tuple(!named_by_fabric, nic.name)) {
      // NCCL and UCX use the RDMA device's name.
      nic.name = name;
      named_by_fabric = openfabrics;
    }
    nic.fabric = nic.fabric || is_fabric(osdev, device);
  }
  for (auto& [object, entry] : found) topology.nics.push_back(std::move(entry.nic));
  std::ranges::sort(topology.nics, [](const Nic& a, const Nic& b) {
    return std::tie(a.name, a.pci) < std::tie(b.name, b.pci);
  });
}

// ---- loading --------------------------------------------------------------------------------

Result<HwlocTopology> new_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return hwloc_unavailable("hwloc cannot start");
  HwlocTopology loaded(raw);
  // By default hwloc drops all PCI devices. L1, L2 and instruction caches are not needed.
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_L1CACHE, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_L2CACHE, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  return loaded;
}

constexpr const char* slow_plugins = "hwloc_gl.so,hwloc_opencl.so,hwloc_cuda.so,hwloc_nvml.so";
constexpr const char* slow_plugins_and_pci =
    "hwloc_gl.so,hwloc_opencl.so,hwloc_cuda.so,hwloc_nvml.so,hwloc_pci.so";

Topology read_topology(hwloc_topology_t from) {
  Topology topology;
  topology.packages = std::max(1, hwloc_get_nbobjs_by_type(from, HWLOC_OBJ_PACKAGE));
  read_cores(from, topology);
  read_numa(from, topology);
  read_gpus(from, topology);
  read_nics(from, topology);
  topology.allowed_cpus = to_ids(hwloc_topology_get_allowed_cpuset(from)) & topology.cpus();
  topology.allowed_numa = to_ids(hwloc_topology_get_allowed_nodeset(from));
  topology.present_cpus = to_ids(hwloc_topology_get_complete_cpuset(from)) | topology.cpus();
  return topology;
}

Error bad_file(const std::string& path, std::string_view why, std::string hint) {
  return {ErrorKind::bad_request, fmt::format("{} {}", path, why), std::move(hint)};
}

// Detects the problem from the text; hwloc's own error names none.
std::optional<Error> refuse_by_text(const std::string& path, const std::string& text) {
  const auto topology = text.find("<topology");
  if (topology == std::string::npos)
    return bad_file(path, text.empty() ? "is empty" : "is not hwloc XML",
                    "write it with lstopo FILE.xml; a file of topo --json is named FILE.json");
  constexpr std::string_view attribute = "version=\"";
  const auto version = text.find(attribute, topology);
  if (version < text.find('>', topology) && text[version + attribute.size()] >= '3' &&
      text[version + attribute.size()] <= '9')
    return bad_file(path,
                    fmt::format("is hwloc {} XML, which hwloc {} does not read",
                                text[version + attribute.size()], hwloc_version()),
                    "write it with lstopo --export-xml-flags v2 FILE.xml");
  return std::nullopt;
}

// Runs in a child: a pipe may block forever, and hwloc may crash.
Result<std::string> json_of_xml(const std::string& path) {
  const HwlocSetting silent("HWLOC_HIDE_ERRORS", "2");
  const auto text = read_file_text(path);
  if (!text)
    return Error{ErrorKind::bad_request, text.error().what, "check the name and its permissions"};
  if (auto refusal = refuse_by_text(path, *text)) return *std::move(refusal);
  auto loaded = new_topology();
  if (!loaded) return std::move(loaded).error();
  const auto size_with_end = static_cast<int>(text->size() + 1);
  if (hwloc_topology_set_xmlbuffer(loaded->get(), text->c_str(), size_with_end) != 0 ||
      hwloc_topology_load(loaded->get()) != 0)
    return bad_file(path, fmt::format("is not XML that hwloc {} reads", hwloc_version()),
                    "write it again with lstopo FILE.xml");
  return to_json(read_topology(loaded->get()))
      .dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace

Result<Topology> discover_topology(DeviceNames names) {
  const bool named = names == DeviceNames::read;
  // hwloc need not load these plugins, whose components are off: to load them and their libraries,
  // such as X11, takes a third of the time of `dllaunch exec`.
  const HwlocSetting unread("HWLOC_PLUGINS_BLACKLIST", named ? slow_plugins : slow_plugins_and_pci);
  // Its banner of 13 lines about firmware that contradicts itself; placements say what follows.
  const HwlocSetting silent("HWLOC_HIDE_ERRORS", "2");
  auto loaded = new_topology();
  if (!loaded) return std::move(loaded).error();
  // Every rank runs this, so slow components are off: gl queries all X servers, opencl and cuda
  // start their runtimes, x86 binds itself to each CPU in turn to repeat what Linux says. nvml
  // numbers GPUs as PCI does.
  for (const auto* slow : {"gl", "opencl", "cuda", "nvml", "x86"})
    hwloc_topology_set_components(loaded->get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, slow);
  // Linux tells of the same devices; pci adds their names, from a file of 1.3 MB, read twice.
  if (!named)
    hwloc_topology_set_components(loaded->get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "pci");
  if (hwloc_topology_load(loaded->get()) != 0)
    return hwloc_unavailable(
        fmt::format("hwloc cannot read this machine: {}", std::strerror(errno)));
  auto topology = read_topology(loaded->get());
  if (topology.cores.empty()) return hwloc_unavailable("hwloc finds no CPU on this machine");
  topology.source = "this machine";
  // HWLOC_XMLFILE may show another machine, where this process's binding means nothing.
  if (hwloc_topology_is_thissystem(loaded->get()) == 0) {
    topology.source = "the machine of hwloc's environment variables";
    return topology;
  }
  // hwloc was built without PCI, or told to ignore it.
  if (topology.gpus.empty() && topology.nics.empty())
    topology.gpus = read_sysfs_gpus("/sys", topology);
  const auto bound = own_affinity() & topology.allowed_cpus;
  if (!bound.empty()) topology.allowed_cpus = bound;
  return topology;
}

Result<Topology> topology_from_xml(const std::string& path) {
  constexpr std::chrono::seconds deadline{10};
  const auto text = isolated_call([&] { return json_of_xml(path); }, deadline);
  if (!text) {
    if (text.error().kind == ErrorKind::bad_request) return text.error();
    return bad_file(path, fmt::format("is damaged: reading it {}", text.error().what),
                    "write it again with lstopo FILE.xml");
  }
  const auto document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  auto topology = topology_from_json(document);
  if (!topology) return std::move(topology).error().within(path);
  topology->source = "file " + path;
  return topology;
}

std::string hwloc_version() {
  return HWLOC_VERSION;
}

}  // namespace dllaunch
