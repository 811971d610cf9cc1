#include "launcher/cluster/probed_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "launcher/slurm/host_list.hpp"
#include "support/json.hpp"
#include "topology/discovery/topology_format.hpp"

namespace dllaunch {
namespace {

/// Exceeds any node; the product of three such counts fits 64 bits.
constexpr int most = 1 << 20;
/// The year 9999: a later time is damage.
constexpr std::int64_t latest = 253402300799;

Error damaged(std::string what) {
  return {ErrorKind::bad_request, std::move(what), "`dllaunch probe` rewrites it"};
}

/// A number between `least` and `most`; `otherwise` if absent. Throws JsonError.
int count(const Json& object, const char* key, int least, int otherwise) {
  if (!object.contains(key)) return otherwise;
  const auto& value = object.at(key);
  if (!value.is_number_integer() || value.get<std::int64_t>() < least ||
      value.get<std::int64_t>() > most)
    throw JsonError("other_error", 501,
                    fmt::format("{}: not a whole number from {} to {}", key, least, most));
  return value.get<int>();
}

template <typename T>
T value_or(const Json& object, const char* key, T otherwise) {
  return object.contains(key) ? object.at(key).get<T>() : otherwise;
}

/// These texts are printed on terminals.
bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
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

Result<ProbedNode> read(const Json& document) {
  auto type = node_type_from_json(document.at("node_type"));
  if (!type) return std::move(type).error();
  auto topology = topology_from_json(document.at("topology"));
  if (!topology) return std::move(topology).error();
  const auto& time = document.at("time");
  // get<int64>() would overflow to a negative number: check as double first.
  if (!time.is_number_integer() || time.get<double>() < 0 ||
      time.get<double>() > static_cast<double>(latest))
    return damaged("invalid time");
  ProbedNode node{.type = *std::move(type),
                  .cluster = document.at("cluster").get<std::string>(),
                  .partitions = document.at("partitions").get<std::vector<std::string>>(),
                  .host = document.at("host").get<std::string>(),
                  .time = time.get<std::int64_t>(),
                  .kernel = value_or<std::string>(document, "kernel", ""),
                  .drivers = {},
                  .dllaunch = value_or<std::string>(document, "dllaunch", ""),
                  .hwloc = value_or<std::string>(document, "hwloc", ""),
                  .topology = *std::move(topology)};
  const auto drivers = value_or(document, "drivers", Json::object());
  for (const auto& [name, version] : drivers.items())
    node.drivers.emplace_back(name, version.get<std::string>());
  if (auto good = check_texts(node); !good) return std::move(good).error();
  return node;
}

/// FNV-1a: equal on every machine, unlike std::hash.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

Json to_json(const NodeType& type) {
  Json document = {{"hosts", compress_hosts(type.hosts)},
                   {"cpus", type.cpus},
                   {"sockets", type.sockets},
                   {"cores_per_socket", type.cores_per_socket},
                   {"threads_per_core", type.threads_per_core},
                   {"memory_mib", type.memory_mib},
                   {"gpus", type.gpus},
                   {"gpu_type", type.gpu_type},
                   {"features", type.features}};
  if (type.gpu_gres.empty()) return document;
  auto& kinds = document["gpu_kinds"] = Json::array();
  for (const auto& kind : type.gpu_gres)
    kinds.push_back({{"type", kind.type}, {"count", kind.count}});
  return document;
}

Result<NodeType> node_type_from_json(const Json& document) {
  try {
    auto hosts = expand_hosts(document.at("hosts").get<std::string>());
    if (!hosts) return std::move(hosts).error();
    std::vector<GpuGres> kinds;
    for (const auto& kind : value_or(document, "gpu_kinds", Json::array()))
      kinds.push_back({value_or<std::string>(kind, "type", ""), count(kind, "count", 0, 0)});
    return NodeType{.hosts = *std::move(hosts),
                    .cpus = count(document, "cpus", 1, 1),
                    .sockets = count(document, "sockets", 1, 1),
                    .cores_per_socket = count(document, "cores_per_socket", 1, 1),
                    .threads_per_core = count(document, "threads_per_core", 1, 1),
                    .memory_mib = value_or<std::uint64_t>(document, "memory_mib", 0),
                    .gpus = count(document, "gpus", 0, 0),
                    .gpu_type = value_or<std::string>(document, "gpu_type", ""),
                    .features = value_or<std::vector<std::string>>(document, "features", {}),
                    .gpu_gres = std::move(kinds)};
  } catch (const JsonError& problem) {
    return Error{ErrorKind::bad_request, problem.what(), ""};
  }
}

Json to_json(const ProbedNode& node) {
  Json drivers = Json::object();
  for (const auto& [name, version] : node.drivers) drivers[name] = version;
  return {{"format", probe_format},
          {"cluster", node.cluster},
          {"partitions", node.partitions},
          {"node_type", to_json(node.type)},
          {"host", node.host},
          {"time", node.time},
          {"kernel", node.kernel},
          {"drivers", std::move(drivers)},
          {"dllaunch", node.dllaunch},
          {"hwloc", node.hwloc},
          {"topology", to_json(node.topology)}};
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
  try {
    auto node = read(document);
    // Whatever is wrong, the record is damaged: caches are not repaired by hand.
    if (!node) return damaged(node.error().what);
    return node;
  } catch (const JsonError& problem) {
    return damaged(problem.what());
  }
}

std::string node_type_id(const NodeType& type) {
  auto shape = type;
  shape.hosts.clear();
  std::string gpus;
  if (type.gpus > 0) {
    gpus = fmt::format("{}x", type.gpus);
    for (const char c : type.gpu_type.empty() ? std::string("gpu") : type.gpu_type.substr(0, 32))
      gpus += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
    gpus += "-";
  }
  // Features are in the order an administrator typed.
  std::sort(shape.features.begin(), shape.features.end());
  const auto text =
      to_json(shape).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return fmt::format("{}{}cpus-{:08x}", gpus, type.cpus, hash_of(text));
}

bool same_description(const NodeType& a, const NodeType& b) {
  auto features_a = a.features;
  auto features_b = b.features;
  std::sort(features_a.begin(), features_a.end());
  std::sort(features_b.begin(), features_b.end());
  return a.cpus == b.cpus && a.sockets == b.sockets && a.cores_per_socket == b.cores_per_socket &&
         a.threads_per_core == b.threads_per_core && a.memory_mib == b.memory_mib &&
         a.gpus == b.gpus && a.gpu_type == b.gpu_type && a.gpu_gres == b.gpu_gres &&
         features_a == features_b;
}

bool describes(const Topology& topology, const NodeType& type) {
  const auto threads = std::int64_t{type.sockets} * type.cores_per_socket * type.threads_per_core;
  const auto cpus = topology.cpus();
  return cpus.last() < threads && std::int64_t{2} * cpus.size() > threads &&
         static_cast<int>(topology.gpus.size()) == type.gpus;
}

std::string shape_words(const NodeType& type) {
  const auto threads = std::int64_t{type.sockets} * type.cores_per_socket * type.threads_per_core;
  auto text = fmt::format("{} ({} x {} x {})", counted(threads, "CPU"), type.sockets,
                          type.cores_per_socket, type.threads_per_core);
  if (type.gpus > 0) text += ", " + counted(type.gpus, "GPU");
  if (type.gpus > 0 && !type.gpu_type.empty()) text += " (" + type.gpu_type + ")";
  return text;
}

std::string shape_words(const Topology& topology) {
  auto text = counted(topology.present_cpus.size(), "CPU");
  if (!topology.gpus.empty())
    text += ", " + counted(static_cast<std::int64_t>(topology.gpus.size()), "GPU");
  return text;
}

std::string age_words(std::int64_t seconds) {
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  // Clock skew may make it slightly negative.
  if (seconds < minute) return "just now";
  if (seconds < hour) return counted(seconds / minute, "minute") + " ago";
  if (seconds < 2 * day) return counted(seconds / hour, "hour") + " ago";
  return counted(seconds / day, "day") + " ago";
}

}  // namespace dllaunch
