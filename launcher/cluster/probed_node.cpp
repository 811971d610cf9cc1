#include "launcher/cluster/probed_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "support/json.hpp"

namespace dllaunch {
namespace {

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
  return same_hardware(a, b) && features_a == features_b;
}

std::string describe_difference(const Topology& topology, const NodeType& type) {
  const auto threads = std::int64_t{type.sockets} * type.cores_per_socket * type.threads_per_core;
  const auto cpus = topology.cpus();
  if (cpus.last() >= threads)
    return fmt::format("it has a CPU {}, Slurm counts {}", cpus.last(), counted(threads, "CPU"));
  if (std::int64_t{2} * cpus.size() <= threads)
    return fmt::format("it has {}, Slurm counts {}", counted(cpus.size(), "CPU"), threads);
  const auto gpus = std::ssize(topology.gpus);
  return gpus == type.gpus
             ? ""
             : fmt::format("it has {}, Slurm counts {}", counted(gpus, "GPU"), type.gpus);
}

bool describes(const Topology& topology, const NodeType& type) {
  return describe_difference(topology, type).empty();
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
