#include "topology/discovery/topology_format.hpp"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "support/file_text.hpp"
#include "support/json.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

// ---- reading, field by field; the first error is kept, with its place --------------------------

class Reader {
 public:
  const std::optional<Error>& error() const { return error_; }

  void refuse(const std::string& where, std::string_view why) {
    if (!error_)
      error_ = Error{ErrorKind::bad_request, fmt::format("topology JSON: {} {}", where, why),
                     "write it with dllaunch topo --json"};
  }

  // The array `key` of `object`; an absent one is empty.
  const Json& array(const Json& object, const char* key) {
    static const Json none = Json::array();
    const auto found = object.find(key);
    if (found == object.end()) return none;
    if (found->is_array()) return *found;
    refuse(key, "is not an array");
    return none;
  }

  int integer(const Json& object, const char* key, const std::string& where, int least,
              std::optional<int> otherwise = {}) {
    const auto found = object.find(key);
    if (found == object.end() && otherwise) return *otherwise;
    if (found == object.end() || !found->is_number_integer()) {
      refuse(where + "." + key, "is not a whole number");
      return least;
    }
    // An unsigned value above the range of long long would turn negative: check both ends as double
    // first.
    const auto wide = found->get<double>();
    if (wide < least || wide > IdSet::max_id) {
      refuse(where + "." + key, fmt::format("is not in {} to {}", least, IdSet::max_id));
      return least;
    }
    return found->get<int>();
  }

  std::uint64_t bytes(const Json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) return 0;
    if (found->is_number_unsigned()) return found->get<std::uint64_t>();
    refuse(where + "." + key, "is not a number of bytes");
    return 0;
  }

  std::string text(const Json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return "";
    if (found->is_string()) return found->get<std::string>();
    refuse(where + "." + key, "is not a string");
    return "";
  }

  bool flag(const Json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) return false;
    if (found->is_boolean()) return found->get<bool>();
    refuse(where + "." + key, "is not true or false");
    return false;
  }

  // "0-3,8" or [0, 1, 2, 3, 8].
  IdSet ids(const Json& object, const char* key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    if (found->is_array()) {
      IdSet set;
      for (const auto& item : *found) {
        if (!item.is_number_integer() || item.get<double>() < 0 ||
            item.get<double>() > IdSet::max_id) {
          refuse(where + "." + key, "has an item that is not a CPU or NUMA number");
          return {};
        }
        set.insert(item.get<int>());
      }
      return set;
    }
    if (!found->is_string()) {
      refuse(where + "." + key, "is not a list");
      return {};
    }
    auto set = parse_id_list(found->text());
    if (set) return *std::move(set);
    refuse(where + "." + key, set.error().what);
    return {};
  }

 private:
  std::optional<Error> error_;
};

bool is_object(Reader& reader, const Json& item, const std::string& where) {
  if (item.is_object()) return true;
  reader.refuse(where, "is not an object");
  return false;
}

void read_numa(Reader& reader, const Json& document, Topology& topology) {
  for (const auto& item : reader.array(document, "numa")) {
    const auto where = fmt::format("numa[{}]", topology.numa.size());
    if (!is_object(reader, item, where)) return;
    NumaNode node;
    node.index = reader.integer(item, "index", where, 0);
    node.cpus = reader.ids(item, "cpus", where);
    node.memory_bytes = reader.bytes(item, "memory_bytes", where);
    if (item.contains("kind")) node.kind = reader.text(item, "kind", where);
    topology.numa.push_back(std::move(node));
  }
}

void read_cores(Reader& reader, const Json& document, Topology& topology) {
  for (const auto& item : reader.array(document, "cores")) {
    const auto where = fmt::format("cores[{}]", topology.cores.size());
    if (!is_object(reader, item, where)) return;
    Core core;
    core.cpus = reader.ids(item, "cpus", where);
    core.package = reader.integer(item, "package", where, -1, -1);
    core.l3 = reader.integer(item, "l3", where, -1, -1);
    core.opens_l3 = reader.flag(item, "opens_l3", where);
    if (core.cpus.empty()) reader.refuse(where + ".cpus", "is empty");
    topology.cores.push_back(std::move(core));
  }
  if (document.contains("cores")) return;
  // With the contract's fields alone, all that is known of a core is its CPU.
  IdSet cpus;
  for (const auto& node : topology.numa) cpus |= node.cpus;
  if (document.contains("allowed_cpus")) cpus |= reader.ids(document, "allowed_cpus", "topology");
  for (const int cpu : cpus.ids()) topology.cores.push_back({.cpus = {cpu}});
}

void read_links(Reader& reader, const Json& item, const std::string& gpu, Gpu& to) {
  for (const auto& link : reader.array(item, "links")) {
    const auto where = fmt::format("{}.links[{}]", gpu, to.links.size());
    if (!is_object(reader, link, where)) return;
    to.links.push_back({.pci = reader.text(link, "pci", where),
                        .partition = reader.integer(link, "partition", where, -1, -1),
                        .kind = reader.text(link, "kind", where),
                        .count = reader.integer(link, "count", where, 0, 0),
                        .path = reader.text(link, "path", where),
                        .p2p = reader.flag(link, "p2p", where)});
  }
}

void read_gpus(Reader& reader, const Json& document, std::vector<Gpu>& gpus) {
  for (const auto& item : reader.array(document, "gpus")) {
    const auto where = fmt::format("gpus[{}]", gpus.size());
    if (!is_object(reader, item, where)) return;
    Gpu gpu;
    gpu.index = reader.integer(item, "index", where, 0);
    gpu.name = reader.text(item, "name", where);
    gpu.vendor = reader.text(item, "vendor", where);
    gpu.pci = reader.text(item, "pci", where);
    gpu.partition = reader.integer(item, "partition", where, -1, -1);
    gpu.cpus = reader.ids(item, "cpus", where);
    gpu.numa = reader.ids(item, "numa", where);
    gpu.package = reader.integer(item, "package", where, -1, -1);
    gpu.pci_path = reader.text(item, "pci_path", where);
    gpu.uuid = reader.text(item, "uuid", where);
    gpu.mode = reader.text(item, "mode", where);
    read_links(reader, item, where, gpu);
    gpus.push_back(std::move(gpu));
  }
}

void read_nics(Reader& reader, const Json& document, Topology& topology) {
  for (const auto& item : reader.array(document, "nics")) {
    const auto where = fmt::format("nics[{}]", topology.nics.size());
    if (!is_object(reader, item, where)) return;
    Nic nic;
    nic.name = reader.text(item, "name", where);
    nic.pci = reader.text(item, "pci", where);
    nic.numa = reader.ids(item, "numa", where);
    nic.cpus = reader.ids(item, "cpus", where);
    nic.fabric = reader.flag(item, "fabric", where);
    nic.pci_path = reader.text(item, "pci_path", where);
    topology.nics.push_back(std::move(nic));
  }
}

// A path may hold any byte; JSON text may not.
std::string ascii(const std::string& text) {
  std::string out = text;
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace

Json gpus_to_json(const std::vector<Gpu>& gpus) {
  auto list = Json::array();
  for (const auto& gpu : gpus) {
    Json item{{"index", gpu.index},     {"name", gpu.name},           {"vendor", gpu.vendor},
              {"pci", gpu.pci},         {"partition", gpu.partition}, {"cpus", to_list(gpu.cpus)},
              {"numa", gpu.numa.ids()}, {"package", gpu.package},     {"pci_path", gpu.pci_path}};
    if (!gpu.uuid.empty()) item["uuid"] = gpu.uuid;
    if (!gpu.mode.empty()) item["mode"] = gpu.mode;
    for (const auto& link : gpu.links)
      item["links"].push_back({{"pci", link.pci},
                               {"partition", link.partition},
                               {"kind", link.kind},
                               {"count", link.count},
                               {"path", link.path},
                               {"p2p", link.p2p}});
    list.push_back(std::move(item));
  }
  return list;
}

Result<std::vector<Gpu>> gpus_from_json(const Json& document) {
  Reader reader;
  std::vector<Gpu> gpus;
  if (is_object(reader, document, "the document")) read_gpus(reader, document, gpus);
  if (reader.error()) return *reader.error();
  return gpus;
}

Json to_json(const Topology& topology) {
  Json document;
  document["packages"] = topology.packages;
  auto& numa = document["numa"] = Json::array();
  for (const auto& node : topology.numa)
    numa.push_back({{"index", node.index},
                    {"cpus", to_list(node.cpus)},
                    {"memory_bytes", node.memory_bytes},
                    {"kind", node.kind}});
  document["gpus"] = gpus_to_json(topology.gpus);
  auto& nics = document["nics"] = Json::array();
  for (const auto& nic : topology.nics)
    nics.push_back({{"name", nic.name},
                    {"pci", nic.pci},
                    {"numa", nic.numa.ids()},
                    {"cpus", to_list(nic.cpus)},
                    {"fabric", nic.fabric},
                    {"pci_path", nic.pci_path}});
  document["allowed_cpus"] = to_list(topology.allowed_cpus);
  document["allowed_numa"] = to_list(topology.allowed_numa);
  document["present_cpus"] = to_list(topology.present_cpus);
  auto& cores = document["cores"] = Json::array();
  for (const auto& core : topology.cores) {
    Json item{{"cpus", to_list(core.cpus)}, {"package", core.package}, {"l3", core.l3}};
    if (core.opens_l3) item["opens_l3"] = true;
    cores.push_back(std::move(item));
  }
  document["source"] = ascii(topology.source);
  return document;
}

Result<Topology> topology_from_json(const Json& document) {
  Reader reader;
  if (!is_object(reader, document, "the document")) return *reader.error();
  Topology topology;
  topology.packages = reader.integer(document, "packages", "topology", 0, 1);
  read_numa(reader, document, topology);
  read_cores(reader, document, topology);
  read_gpus(reader, document, topology.gpus);
  read_nics(reader, document, topology);
  topology.source = reader.text(document, "source", "topology");
  topology.allowed_cpus = document.contains("allowed_cpus")
                              ? reader.ids(document, "allowed_cpus", "topology")
                              : topology.cpus();
  if (document.contains("allowed_numa")) {
    topology.allowed_numa = reader.ids(document, "allowed_numa", "topology");
  } else {
    for (const auto& node : topology.numa) topology.allowed_numa.insert(node.index);
  }
  topology.present_cpus = document.contains("present_cpus")
                              ? reader.ids(document, "present_cpus", "topology")
                              : topology.cpus() | topology.allowed_cpus;
  if (topology.cores.empty()) reader.refuse("the node", "has no CPU");
  if (reader.error()) return *reader.error();
  return topology;
}

Result<Topology> load_topology(const std::string& spec) {
  constexpr std::string_view synthetic = "synthetic:";
  if (spec.starts_with(synthetic))
    return synthetic_topology(std::string_view(spec).substr(synthetic.size()));
  if (!spec.ends_with(".json")) return topology_from_xml(spec);

  const auto text = read_file_text(spec);
  if (!text) return text.error();
  const auto document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return Error{ErrorKind::bad_request, fmt::format("{} is not JSON", spec),
                 "write it with dllaunch topo --json"};
  auto topology = topology_from_json(document);
  if (!topology) return std::move(topology).error().within(spec);
  topology->source = "file " + spec;
  return topology;
}

}  // namespace dllaunch
