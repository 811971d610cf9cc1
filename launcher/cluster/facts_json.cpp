#include <fmt/core.h>

#include <limits>

#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/cluster/facts.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// null: everyone is allowed, no one is denied.
Json to_json(const AccessList& access_list) {
  if (access_list == AccessList{}) return nullptr;
  return {{"allowed", access_list.allowed}, {"denied", access_list.denied}};
}

Json to_json(const Partition& partition) {
  Json types = Json::array();
  for (const auto& type : partition.node_types) types.push_back(to_json(type));
  return {{"name", partition.name},
          {"default", partition.is_default},
          {"up", partition.up},
          {"state", partition.state},
          {"default_minutes", or_null(partition.default_minutes)},
          {"max_minutes", or_null(partition.max_minutes)},
          {"min_nodes", partition.min_nodes},
          {"max_nodes", or_null(partition.max_nodes)},
          {"accounts", to_json(partition.accounts)},
          {"qos", to_json(partition.qos)},
          {"groups", to_json(partition.groups)},
          {"node_types", std::move(types)}};
}

Json to_json(const Reservation& reservation) {
  return {{"name", reservation.name},
          {"active", reservation.active},
          {"start", reservation.start},
          {"end", reservation.end},
          {"hosts", compress_hosts(reservation.hosts)},
          {"partition", reservation.partition},
          {"users", reservation.users},
          {"accounts", reservation.accounts},
          {"groups", reservation.groups},
          {"flags", reservation.flags}};
}

Json to_json(const SlurmUser& user) {
  Json associations = nullptr;
  if (user.associations) {
    associations = Json::array();
    for (const auto& known : *user.associations)
      associations.push_back(
          {{"account", known.account}, {"partition", known.partition}, {"qos", known.qos}});
  }
  return {{"name", user.name},
          {"groups", user.groups},
          {"default_account", user.default_account},
          {"associations", std::move(associations)}};
}

Json to_json(const SlurmFacts& slurm) {
  Json partitions = Json::array();
  for (const auto& partition : slurm.partitions) partitions.push_back(to_json(partition));
  Json outages = Json::array();
  for (const auto& outage : slurm.outages)
    outages.push_back({{"hosts", compress_hosts(outage.hosts)},
                       {"state", outage.state},
                       {"reason", outage.reason}});
  Json document = {{"version", slurm.version},
                   {"cluster", slurm.cluster},
                   {"mpi_types", slurm.mpi_types},
                   {"mpi_default", slurm.mpi_default},
                   {"pyxis", slurm.pyxis},
                   {"enforced", slurm.enforced},
                   {"partitions", std::move(partitions)},
                   {"outages", std::move(outages)}};
  if (!slurm.submit_plugins.empty()) document["submit_plugins"] = slurm.submit_plugins;
  if (slurm.reservations) {
    auto& list = document["reservations"] = Json::array();
    for (const auto& reservation : *slurm.reservations) list.push_back(to_json(reservation));
  }
  if (slurm.user) document["user"] = to_json(*slurm.user);
  return document;
}

template <typename T>
T value_or(const Json& object, const char* key, T otherwise) {
  return object.contains(key) ? object.at(key).get<T>() : otherwise;
}

using Texts = std::vector<std::string>;

bool has(const Json& object, const char* key) {
  return object.contains(key) && !object.at(key).is_null();
}

/// Empty if absent or null. Returns a reference, because partitions are most of a recording.
const Json& list_of(const Json& object, const char* key) {
  static const Json none = Json::array();
  return has(object, key) ? object.at(key) : none;
}

/// A non-negative int; `otherwise` if absent or null.
std::optional<int> count_of(const Json& object, const char* key) {
  if (!has(object, key)) return std::nullopt;
  const auto& value = object.at(key);
  if (!value.is_number_integer() || value.get<double>() < 0 ||
      value.get<double>() > std::numeric_limits<int>::max())
    throw JsonError("other_error", 501, fmt::format("{}: no count", key));
  return value.get<int>();
}

AccessList access_list_of(const Json& object, const char* key) {
  if (!has(object, key)) return {};
  return {.allowed = value_or<Texts>(object.at(key), "allowed", {}),
          .denied = value_or<Texts>(object.at(key), "denied", {})};
}

Result<Partition> partition_of(const Json& object) {
  Partition partition{.name = object.at("name").get<std::string>(),
                      .is_default = value_or(object, "default", false),
                      .up = value_or(object, "up", true),
                      .max_minutes = count_of(object, "max_minutes"),
                      .node_types = {},
                      .state = {},
                      .default_minutes = count_of(object, "default_minutes"),
                      .min_nodes = count_of(object, "min_nodes").value_or(0),
                      .max_nodes = count_of(object, "max_nodes"),
                      .accounts = access_list_of(object, "accounts"),
                      .qos = access_list_of(object, "qos"),
                      .groups = access_list_of(object, "groups")};
  partition.state = value_or<std::string>(object, "state", partition.up ? "UP" : "DOWN");
  for (const auto& item : list_of(object, "node_types")) {
    auto type = node_type_from_json(item);
    if (!type) return std::move(type).error().within(partition.name);
    partition.node_types.push_back(*std::move(type));
  }
  return partition;
}

Result<Reservation> reservation_of(const Json& object) {
  auto hosts = expand_hosts(value_or<std::string>(object, "hosts", ""));
  if (!hosts) return std::move(hosts).error();
  return Reservation{.name = object.at("name").get<std::string>(),
                     .active = value_or(object, "active", false),
                     .start = value_or<std::int64_t>(object, "start", 0),
                     .end = value_or<std::int64_t>(object, "end", 0),
                     .hosts = *std::move(hosts),
                     .partition = value_or<std::string>(object, "partition", ""),
                     .users = value_or<Texts>(object, "users", {}),
                     .accounts = value_or<Texts>(object, "accounts", {}),
                     .groups = value_or<Texts>(object, "groups", {}),
                     .flags = value_or<Texts>(object, "flags", {})};
}

Result<Outage> outage_of(const Json& object) {
  auto hosts = expand_hosts(object.at("hosts").get<std::string>());
  if (!hosts) return std::move(hosts).error();
  return Outage{.hosts = *std::move(hosts),
                .state = value_or<std::string>(object, "state", ""),
                .reason = value_or<std::string>(object, "reason", "")};
}

SlurmUser user_of(const Json& object) {
  SlurmUser user{.name = value_or<std::string>(object, "name", ""),
                 .groups = value_or<Texts>(object, "groups", {}),
                 .default_account = value_or<std::string>(object, "default_account", ""),
                 .associations = {}};
  if (!has(object, "associations")) return user;
  user.associations.emplace();
  for (const auto& item : object.at("associations"))
    user.associations->push_back({.account = item.at("account").get<std::string>(),
                                  .partition = value_or<std::string>(item, "partition", ""),
                                  .qos = value_or<Texts>(item, "qos", {})});
  return user;
}

/// Appends each item of a list to `to`, or returns which one is invalid.
template <typename T>
Result<Ok> append(const Json& list, Result<T> (*read)(const Json&), std::vector<T>& to) {
  for (const auto& item : list) {
    auto value = read(item);
    if (!value) return std::move(value).error();
    to.push_back(*std::move(value));
  }
  return Ok{};
}

Result<SlurmFacts> slurm_of(const Json& object) {
  if (!object.is_object()) return Error{ErrorKind::bad_request, "slurm: not an object", ""};
  SlurmFacts slurm{.version = value_or<std::string>(object, "version", ""),
                   .cluster = value_or<std::string>(object, "cluster", ""),
                   .mpi_types = value_or<Texts>(object, "mpi_types", {}),
                   .mpi_default = value_or<std::string>(object, "mpi_default", ""),
                   .pyxis = value_or(object, "pyxis", false),
                   .partitions = {},
                   .outages = {},
                   .enforced = value_or<Texts>(object, "enforced", {}),
                   .submit_plugins = value_or<Texts>(object, "submit_plugins", {}),
                   .reservations = {},
                   .user = {}};
  auto good = append(list_of(object, "partitions"), partition_of, slurm.partitions);
  if (good) good = append(list_of(object, "outages"), outage_of, slurm.outages);
  if (good && has(object, "reservations"))
    good = append(object.at("reservations"), reservation_of, slurm.reservations.emplace());
  if (!good) return std::move(good).error();
  if (has(object, "user")) slurm.user = user_of(object.at("user"));
  return slurm;
}

/// Stored as the original file.
Result<ClusterProfile> profile_of(const Json& object) {
  auto parsed =
      parse_cluster_profile(object.at("text").text(), value_or<std::string>(object, "file", ""));
  if (parsed.profile) return *std::move(parsed.profile);
  const auto& first = parsed.problems.front();
  return Error{ErrorKind::bad_request,
               fmt::format("line {}, column {}: {}", first.line, first.column, first.message), ""};
}

Result<Facts> read(const Json& document) {
  Facts facts{.host = value_or<std::string>(document, "host", ""),
              .slurm = {},
              .why_no_slurm = value_or<std::string>(document, "why_no_slurm", ""),
              .topology = {},
              .probed = {},
              .time = value_or<std::int64_t>(document, "time", 0)};
  if (document.contains("slurm") && !document.at("slurm").is_null()) {
    auto slurm = slurm_of(document.at("slurm"));
    if (!slurm) return std::move(slurm).error();
    facts.slurm = *std::move(slurm);
  }
  if (document.contains("topology") && !document.at("topology").is_null()) {
    auto topology = topology_from_json(document.at("topology"));
    if (!topology) return std::move(topology).error().within("topology");
    facts.topology = *std::move(topology);
  }
  for (const auto& item : list_of(document, "probed")) {
    auto node = probed_node_from_json(item);
    if (!node) return std::move(node).error().within("probed");
    facts.probed.push_back(*std::move(node));
  }
  if (document.contains("profile")) {
    auto profile = profile_of(document.at("profile"));
    if (!profile) return std::move(profile).error().within("profile");
    facts.profile = std::make_shared<const ClusterProfile>(*std::move(profile));
  }
  facts.from_profile = facts.profile && value_or(document, "from_profile", false);
  return facts;
}

}  // namespace

Json to_json(const Facts& facts) {
  Json probed = Json::array();
  for (const auto& node : facts.probed) probed.push_back(to_json(node));
  Json document = {{"host", facts.host},
                   {"time", facts.time},
                   {"slurm", facts.slurm ? to_json(*facts.slurm) : Json(nullptr)},
                   {"why_no_slurm", facts.why_no_slurm},
                   {"topology", facts.topology ? to_json(*facts.topology) : Json(nullptr)},
                   {"probed", std::move(probed)}};
  if (facts.profile)
    document["profile"] = {{"file", facts.profile->file}, {"text", facts.profile->text}};
  if (facts.from_profile) document["from_profile"] = true;
  return document;
}

Result<Facts> facts_from_json(const Json& document) {
  if (!document.is_object()) return Error{ErrorKind::bad_request, "facts: not a JSON object", ""};
  try {
    auto facts = read(document);
    if (!facts) return std::move(facts).error().within("facts");
    return facts;
  } catch (const JsonError& problem) {
    return Error{ErrorKind::bad_request, fmt::format("facts: {}", problem.what()), ""};
  }
}

}  // namespace dllaunch
