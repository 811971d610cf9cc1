#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/facts.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "launcher/network/network_json.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json_fields.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

constexpr int most = std::numeric_limits<int>::max();
/// Exceeds any node; the product of three such counts fits 64 bits.
constexpr int most_on_node = 1 << 20;
/// The year 9999: a later time is damage.
constexpr std::int64_t latest = 253402300799;

auto as_host_list(std::vector<std::string>& hosts) {
  return as_text(hosts, compress_hosts, expand_hosts);
}

Error damaged(std::string what) {
  return {ErrorKind::bad_request, std::move(what), "`dllaunch probe` writes it anew"};
}

/// These texts are printed on terminals.
bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

Result<Ok> check_texts(const ProbedNode& node) {
  std::vector<const std::string*> texts = {&node.cluster, &node.host, &node.kernel, &node.dllaunch,
                                           &node.hwloc};
  for (const auto& partition : node.partitions) texts.push_back(&partition);
  for (const auto& [name, version] : node.drivers) texts.insert(texts.end(), {&name, &version});
  for (const auto& host : node.type.hosts) texts.push_back(&host);
  for (const auto& feature : node.type.features) texts.push_back(&feature);
  texts.push_back(&node.type.gpu_type);
  for (const auto& kind : node.type.gpu_gres) texts.push_back(&kind.type);
  if (std::all_of(texts.begin(), texts.end(), [](const auto* text) { return is_printable(*text); }))
    return Ok{};
  return damaged("a name in it holds a control character");
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, GpuGres& gres) {
  field("type", gres.type);
  field("count", within(gres.count, 0, most_on_node));
}

template <typename Field>
void visit_fields(Field& field, NodeType& type) {
  if constexpr (Field::reads) type.cpus = 1;
  field.required("hosts", as_host_list(type.hosts));
  field("cpus", within(type.cpus, 1, most_on_node));
  field("sockets", within(type.sockets, 1, most_on_node));
  field("cores_per_socket", within(type.cores_per_socket, 1, most_on_node));
  field("threads_per_core", within(type.threads_per_core, 1, most_on_node));
  field("memory_mib", type.memory_mib);
  field("gpus", within(type.gpus, 0, most_on_node));
  field("gpu_type", type.gpu_type);
  field("features", type.features);
  field.unless_empty("gpu_kinds", type.gpu_gres);
}

template <typename Field>
void visit_fields(Field& field, ProbedNode& node) {
  field.only_written("format", probe_format);
  field.required("cluster", node.cluster);
  field.required("partitions", node.partitions);
  field.required("node_type", node.type);
  field.required("host", node.host);
  field.required("time", within(node.time, 0, latest));
  field("kernel", node.kernel);
  field("drivers", node.drivers);
  field("dllaunch", node.dllaunch);
  field("hwloc", node.hwloc);
  field.required("topology", node.topology);
}

Json to_json(const NodeType& type) {
  return write_fields(type);
}

Json to_json(const ProbedNode& node) {
  return write_fields(node);
}

Result<ProbedNode> probed_node_from_json(const Json& document) {
  const auto format = document.is_object() ? document.find("format") : document.end();
  if (format == document.end() || !format->is_number_integer() || format->get<double>() < 1)
    return damaged("not a record of a probed node");
  if (format->get<double>() > probe_format)
    return Error{ErrorKind::bad_request,
                 fmt::format("it is of format {}, this dllaunch reads up to {}", format->dump(),
                             probe_format),
                 "use the dllaunch that wrote it, or run `dllaunch probe` with this one"};
  ProbedNode node;
  // Whatever is wrong, the record is damaged: caches are not repaired by hand.
  if (auto problem = read_fields(document, node); !problem.empty())
    return damaged(std::move(problem));
  if (auto good = check_texts(node); !good) return std::move(good).error();
  return node;
}

template <typename Field>
void visit_fields(Field& field, AccessList& list) {
  field("allowed", list.allowed);
  field("denied", list.denied);
}

template <typename Field>
void visit_fields(Field& field, Partition& partition) {
  field.required("name", partition.name);
  field("default", partition.is_default);
  field("up", partition.up);
  if constexpr (Field::reads) partition.state = partition.up ? "UP" : "DOWN";
  field("state", partition.state);
  field("default_minutes", within(partition.default_minutes, 0, most));
  field("max_minutes", within(partition.max_minutes, 0, most));
  field("min_nodes", within(partition.min_nodes, 0, most));
  field("max_nodes", within(partition.max_nodes, 0, most));
  // Null: everyone is allowed, no one is denied.
  field.or_null("accounts", partition.accounts);
  field.or_null("qos", partition.qos);
  field.or_null("groups", partition.groups);
  field("node_types", partition.node_types);
}

template <typename Field>
void visit_fields(Field& field, Reservation& reservation) {
  field.required("name", reservation.name);
  field("active", reservation.active);
  field("start", reservation.start);
  field("end", reservation.end);
  field("hosts", as_host_list(reservation.hosts));
  field("partition", reservation.partition);
  field("users", reservation.users);
  field("accounts", reservation.accounts);
  field("groups", reservation.groups);
  field("flags", reservation.flags);
}

template <typename Field>
void visit_fields(Field& field, Outage& outage) {
  field.required("hosts", as_host_list(outage.hosts));
  field("state", outage.state);
  field("reason", outage.reason);
}

template <typename Field>
void visit_fields(Field& field, Association& association) {
  field.required("account", association.account);
  field("partition", association.partition);
  field("qos", association.qos);
}

template <typename Field>
void visit_fields(Field& field, SlurmUser& user) {
  field("name", user.name);
  field("groups", user.groups);
  field("default_account", user.default_account);
  field("associations", user.associations);
}

template <typename Field>
void visit_fields(Field& field, SlurmFacts& slurm) {
  field("version", slurm.version);
  field("cluster", slurm.cluster);
  field("mpi_types", slurm.mpi_types);
  field("mpi_default", slurm.mpi_default);
  field("pyxis", slurm.pyxis);
  field("enforced", slurm.enforced);
  field("partitions", slurm.partitions);
  field("outages", slurm.outages);
  field.unless_empty("submit_plugins", slurm.submit_plugins);
  field.unless_empty("reservations", slurm.reservations);
  field.unless_empty("user", slurm.user);
  if (Field::reads || !slurm.network.units.empty()) field("network", slurm.network);
  field.unless_empty("any_cluster", slurm.any_cluster);
}

/// A profile is stored as the original file.
struct StoredProfile {
  std::string file = {};
  std::string text = {};
};

template <typename Field>
void visit_fields(Field& field, StoredProfile& stored) {
  field("file", stored.file);
  field.required("text", stored.text);
}

static Json to_json(const std::shared_ptr<const ClusterProfile>& profile) {
  return write_fields(StoredProfile{profile->file, profile->text});
}

static std::string read_json(const Json& json, std::shared_ptr<const ClusterProfile>& profile) {
  StoredProfile stored;
  if (auto problem = read_fields(json, stored); !problem.empty()) return problem;
  auto parsed = parse_cluster_profile(stored.text, stored.file);
  if (!parsed.profile) {
    const auto& first = parsed.problems.front();
    return fmt::format(": line {}, column {}: {}", first.line, first.column, first.message);
  }
  profile = std::make_shared<const ClusterProfile>(*std::move(parsed.profile));
  return "";
}

static std::string read_json(const Json& json, ProbedNode& node) {
  return accept(probed_node_from_json(json), node);
}

template <typename Field>
void visit_fields(Field& field, Facts& facts) {
  field("host", facts.host);
  field("time", facts.time);
  field("slurm", facts.slurm);
  field("why_no_slurm", facts.why_no_slurm);
  field.unless_empty("no_mpirun", facts.no_mpirun);
  field.unless_empty("no_mpi_module", facts.no_mpi_module);
  field("topology", facts.topology);
  field("probed", facts.probed);
  field.unless_empty("profile", facts.profile);
  field.unless_empty("from_profile", facts.from_profile);
  if constexpr (Field::reads) facts.from_profile = facts.from_profile && facts.profile;
}

Json to_json(const Facts& facts) {
  return write_fields(facts);
}

Result<Facts> facts_from_json(const Json& document) {
  if (!document.is_object()) return Error{ErrorKind::bad_request, "facts: not a JSON object", ""};
  Facts facts;
  if (const auto problem = read_fields(document, facts); !problem.empty())
    return Error{ErrorKind::bad_request, "facts: " + problem, ""};
  return facts;
}

}  // namespace dllaunch
