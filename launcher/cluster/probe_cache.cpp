#include "launcher/cluster/probe_cache.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>

#include "launcher/cluster/probed_node.hpp"
#include "launcher/os/atomic_file.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// A cluster has about ten node types: further files are ignored.
constexpr std::size_t most_probes = 500;
constexpr std::uintmax_t most_bytes = std::uintmax_t{16} << 20;

/// A valid folder name; never empty, never only dots.
std::string folder_name(const std::string& cluster) {
  std::string name;
  for (const char c : cluster) {
    const bool plain = static_cast<unsigned char>(c) < 128 &&
                       (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_');
    name += plain ? c : '_';
  }
  return name.empty() ? "cluster" : name.substr(0, 100);
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    // Names that begin with a dot are temporary files.
    if (at->path().filename().string().starts_with('.')) continue;
    paths.push_back(at->path().string());
    if (paths.size() == most_probes) break;
  }
  std::ranges::sort(paths);
  return paths;
}

Result<ProbedNode> read_record(System& system, const std::string& path) {
  std::error_code problem;
  const auto bytes = fs::file_size(path, problem);
  if (!problem && bytes > most_bytes)
    return Error{ErrorKind::bad_request, "it is larger than 16 MiB", ""};
  const auto text = system.read_file(path);
  if (!text) return text.error();
  const auto document = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return Error{ErrorKind::bad_request, "it is not JSON", ""};
  return probed_node_from_json(document);
}

void read_folder(System& system, const std::string& folder, ProbeCache& cache) {
  for (const auto& path : entries_of(folder)) {
    if (!path.ends_with(".json")) continue;
    auto node = read_record(system, path);
    if (node)
      cache.nodes.push_back(*std::move(node));
    else
      cache.complaints.push_back(fmt::format("{} is not used: {}", path, node.error().what));
  }
}

}  // namespace

std::optional<std::string> probe_cache_folder(System& system) {
  // The XDG specification says to ignore relative paths.
  if (const auto cache = system.environment("XDG_CACHE_HOME"); cache && cache->starts_with('/'))
    return *cache + "/dllaunch/clusters";
  if (const auto home = system.environment("HOME"); home && home->starts_with('/'))
    return *home + "/.cache/dllaunch/clusters";
  return std::nullopt;
}

ProbeCache read_probe_cache(System& system, const std::optional<std::string>& cluster) {
  ProbeCache cache;
  const auto folder = probe_cache_folder(system);
  if (!folder) return cache;
  if (cluster) {
    read_folder(system, *folder + "/" + folder_name(*cluster), cache);
  } else {
    for (const auto& path : entries_of(*folder)) read_folder(system, path, cache);
  }
  std::ranges::stable_sort(cache.nodes, std::ranges::greater(), &ProbedNode::time);
  return cache;
}

ProbeFiles probe_files(const std::string& folder, const ProbedNode& node) {
  const auto stem =
      fmt::format("{}/{}/{}", folder, folder_name(node.cluster), node_type_id(node.type));
  return {.json = stem + ".json", .xml = stem + ".xml"};
}

Result<ProbeFiles> write_probe(System& system, const ProbedNode& node, const std::string& xml) {
  const auto folder = probe_cache_folder(system);
  if (!folder)
    return Error{ErrorKind::unavailable, "no folder for the cache: HOME is not set",
                 "set XDG_CACHE_HOME to a folder"};
  auto files = probe_files(*folder, node);
  std::error_code problem;
  fs::create_directories(fs::path(files.json).parent_path(), problem);
  if (problem)
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot make {}: {}", fs::path(files.json).parent_path().string(),
                             problem.message()),
                 "set XDG_CACHE_HOME to a folder that can be written"};
  const auto json =
      to_json(node).dump(1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
  // Plans read only the JSON, so it is written last.
  if (const auto written = write_files({{files.xml, xml}, {files.json, json}}); !written)
    return Error{ErrorKind::unavailable, written.error().what,
                 "set XDG_CACHE_HOME to a folder that can be written"};
  return files;
}

}  // namespace dllaunch
