#include "topology/discovery/topology_format.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "support/file_text.hpp"
#include "support/json_fields.hpp"
#include "support/json_text.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/discovery/gpu_inventory.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

// A path may hold any byte; JSON text may not.
std::string ascii(const std::string& text) {
  std::string out = text;
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

// Fills in what a document may leave out.
void complete(Topology& topology, bool cores, bool allowed_cpus, bool allowed_numa, bool present) {
  if (!cores) {
    // All that is known of a core is its CPU.
    IdSet cpus = topology.allowed_cpus;
    for (const auto& node : topology.numa) cpus |= node.cpus;
    for (const int cpu : cpus.ids()) topology.cores.push_back({.cpus = {cpu}});
  }
  if (!allowed_cpus) topology.allowed_cpus = topology.cpus();
  if (!allowed_numa)
    for (const auto& node : topology.numa) topology.allowed_numa.insert(node.index);
  if (!present) topology.present_cpus = topology.cpus() | topology.allowed_cpus;
}

template <typename T>
Result<T> read_as(const Json& document) {
  T value;
  if (const auto problem = read_fields(document, value); !problem.empty())
    return Error{ErrorKind::bad_request, "topology JSON: " + problem,
                 "write it with dllaunch topo --json"};
  return value;
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, NumaNode& node) {
  field.required("index", within(node.index, 0, IdSet::max_id));
  field("cpus", node.cpus);
  field("memory_bytes", node.memory_bytes);
  field("kind", node.kind);
}

template <typename Field>
void visit_fields(Field& field, Core& core) {
  if constexpr (Field::reads) core.package = -1;
  field("cpus", core.cpus);
  field("package", within(core.package, -1, IdSet::max_id));
  field("l3", within(core.l3, -1, IdSet::max_id));
  field.unless_empty("opens_l3", core.opens_l3);
  if constexpr (Field::reads)
    if (core.cpus.empty()) field.refuse("cpus", "is empty");
}

template <typename Field>
void visit_fields(Field& field, GpuLink& link) {
  field("pci", link.pci);
  field("partition", within(link.partition, -1, IdSet::max_id));
  field("kind", link.kind);
  field("count", within(link.count, 0, IdSet::max_id));
  field("path", link.path);
  field("p2p", link.p2p);
}

template <typename Field>
void visit_fields(Field& field, Gpu& gpu) {
  field.required("index", within(gpu.index, 0, IdSet::max_id));
  field("name", gpu.name);
  field("vendor", gpu.vendor);
  field("pci", gpu.pci);
  field("partition", within(gpu.partition, -1, IdSet::max_id));
  field("cpus", gpu.cpus);
  field("numa", AsArray{gpu.numa});
  field("package", within(gpu.package, -1, IdSet::max_id));
  field("pci_path", gpu.pci_path);
  field.unless_empty("uuid", gpu.uuid);
  field.unless_empty("mode", gpu.mode);
  field.unless_empty("links", gpu.links);
}

template <typename Field>
void visit_fields(Field& field, Nic& nic) {
  field("name", nic.name);
  field("pci", nic.pci);
  field("numa", AsArray{nic.numa});
  field("cpus", nic.cpus);
  field("fabric", nic.fabric);
  field("pci_path", nic.pci_path);
}

template <typename Field>
void visit_fields(Field& field, Topology& topology) {
  if constexpr (Field::reads) topology.packages = 1;
  field("packages", within(topology.packages, 0, IdSet::max_id));
  field("numa", topology.numa);
  field("gpus", topology.gpus);
  field("nics", topology.nics);
  field("allowed_cpus", topology.allowed_cpus);
  field("allowed_numa", topology.allowed_numa);
  field("present_cpus", topology.present_cpus);
  field("cores", topology.cores);
  field("source",
        as_text(topology.source, ascii, [](std::string& text) { return Result(std::move(text)); }));
  if constexpr (Field::reads)
    complete(topology, field.has("cores"), field.has("allowed_cpus"), field.has("allowed_numa"),
             field.has("present_cpus"));
}

template <typename Field>
void visit_fields(Field& field, VendorLibrary& library) {
  field("name", library.name);
  field("file", library.file);
  field("found", library.found);
  field("driver", library.driver);
  field("why", library.why);
  field("gpus", library.gpus);
}

Json to_json(const Topology& topology) {
  return write_fields(topology);
}

Result<Topology> topology_from_json(const Json& document) {
  auto topology = read_as<Topology>(document);
  if (topology && topology->cores.empty())
    return Error{ErrorKind::bad_request, "topology JSON: the node has no CPU",
                 "write it with dllaunch topo --json"};
  return topology;
}

std::string read_json(const Json& document, Topology& topology) {
  return accept(topology_from_json(document), topology);
}

Json to_json(const VendorLibrary& library) {
  return write_fields(library);
}

Result<VendorLibrary> vendor_library_from_json(const Json& document) {
  return read_as<VendorLibrary>(document);
}

Result<Topology> load_topology(const std::string& spec) {
  constexpr std::string_view synthetic = "synthetic:";
  if (spec.starts_with(synthetic))
    return synthetic_topology(std::string_view(spec).substr(synthetic.size()));
  if (!spec.ends_with(".json")) return topology_from_xml(spec);

  const auto text = read_file_text(spec);
  if (!text)
    return Error{ErrorKind::bad_request, text.error().what, "check the name and its permissions"};
  const auto document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (const auto limit = document.is_discarded() ? exceeded_json_limit(*text) : ""; !limit.empty())
    return Error{ErrorKind::bad_request, fmt::format("{} is too large: {}", spec, limit),
                 "write it with dllaunch topo --json"};
  if (document.is_discarded())
    return Error{ErrorKind::bad_request, fmt::format("{} is not JSON", spec),
                 "write it with dllaunch topo --json"};
  auto topology = topology_from_json(document);
  if (!topology) return std::move(topology).error().within(spec);
  topology->source = "file " + spec;
  return topology;
}

}  // namespace dllaunch
