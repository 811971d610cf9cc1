#include "launcher/preflight/request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "launcher/os/stored_json.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "support/isolated_call.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds look_limit(2000);

Error no_request(std::string_view what) {
  return {ErrorKind::bad_request, fmt::format("no request for a pre-flight: {}", what),
          "all nodes need the same dllaunch"};
}

bool is_count(const Json& value) {
  return value.is_number_integer() && value.get<double>() >= -1 && value.get<double>() <= 1e18;
}

std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns the size of the newest complete checkpoint: the next is written before an old one is
/// removed.
std::uint64_t room_for_checkpoint(const std::string& folder) {
  std::error_code error;
  std::string newest;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    if (name.starts_with("step-") && name > newest) newest = name;
  }
  std::uint64_t bytes = 0;
  if (newest.empty()) return 0;
  for (fs::directory_iterator at(fs::path(folder) / newest, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    const auto size = at->file_size(ignored);
    if (!ignored) bytes += size;
  }
  return bytes;
}

/// Reads the run's files. Runs in a child: the file system may hang.
Result<std::string> read_run(System& system, const std::string& run_dir) {
  const RunDir run{run_dir};
  Json known{{"checkpoint_bytes", room_for_checkpoint(run.checkpoints())}};
  const auto text = system.read_file(run.plan_json());
  const auto document = text ? json_object_in(*text) : Json();
  if (document.is_object()) {
    const auto plan = plan_from_json(document);
    known["ranks_per_node"] = plan.ranks_per_node;
    known["host_suffix"] = plan.host_suffix;
  }
  return known.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void add_run(System& system, const std::string& run_dir, PreflightRequest& request) {
  const RunDir run{run_dir};
  request.folders = {{.what = "run directory", .path = run_dir},
                     {.what = "checkpoints", .path = run.checkpoints()}};
  // If it cannot be read, the nodes will report that.
  const auto text = isolated_call([&] { return read_run(system, run_dir); }, look_limit);
  if (!text) return;
  const auto known = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!known.is_object()) return;
  request.folders[1].bytes = known.value("checkpoint_bytes", std::uint64_t{0});
  if (known.contains("ranks_per_node") && is_count(known["ranks_per_node"]))
    request.ranks_per_node = std::max(1, known["ranks_per_node"].get<int>());
  if (known.contains("host_suffix") && known["host_suffix"].is_string())
    request.host_suffix = known["host_suffix"];
}

}  // namespace

Json to_json(const PreflightRequest& request) {
  Json folders = Json::array();
  for (const auto& folder : request.folders)
    folders.push_back({{"what", folder.what}, {"path", folder.path}, {"bytes", folder.bytes}});
  return {{"job", request.job_id},
          {"hosts", compress_hosts(request.hosts)},
          {"folders", folders},
          {"ranks_per_node", request.ranks_per_node},
          {"gpus_per_node", request.gpus_per_node},
          {"memory_bytes", request.memory_bytes},
          {"host_suffix", request.host_suffix},
          {"skip", request.skip},
          {"patience_s", request.patience.count()},
          {"mark", request.mark}};
}

Result<PreflightRequest> preflight_request_from_json(const Json& document) {
  if (!document.is_object()) return no_request("not an object");
  for (const char* key : {"job", "hosts", "host_suffix", "mark"})
    if (!document.contains(key) || !document[key].is_string())
      return no_request(fmt::format("`{}` is not a string", key));
  for (const char* key : {"ranks_per_node", "gpus_per_node", "memory_bytes", "patience_s"})
    if (!document.contains(key) || !is_count(document[key]))
      return no_request(fmt::format("`{}` is not a number", key));
  const auto skip = document.find("skip");
  const bool are_texts =
      skip != document.end() && skip->is_array() &&
      std::all_of(skip->begin(), skip->end(), [](const Json& one) { return one.is_string(); });
  if (!are_texts) return no_request("`skip` is not a list of strings");
  auto hosts = expand_hosts(document["hosts"].get<std::string>());
  if (!hosts) return no_request(hosts.error().what);
  PreflightRequest request{.job_id = document["job"],
                           .hosts = *std::move(hosts),
                           .ranks_per_node = document["ranks_per_node"],
                           .gpus_per_node = document["gpus_per_node"],
                           .memory_bytes = static_cast<std::uint64_t>(
                               std::max(0.0, document["memory_bytes"].get<double>())),
                           .host_suffix = document["host_suffix"],
                           .skip = document["skip"],
                           .mark = document["mark"]};
  request.patience = std::chrono::seconds(
      static_cast<int>(std::clamp(document["patience_s"].get<double>(), 0.0, 1e6)));
  if (!document.contains("folders") || !document["folders"].is_array())
    return no_request("`folders` is not a list");
  for (const auto& folder : document["folders"]) {
    if (!folder.is_object() || !folder.contains("what") || !folder["what"].is_string() ||
        !folder.contains("path") || !folder["path"].is_string() || !folder.contains("bytes") ||
        !is_count(folder["bytes"]))
      return no_request("incomplete folder");
    const auto bytes = std::max(0.0, folder["bytes"].get<double>());
    request.folders.push_back({.what = folder["what"],
                               .path = folder["path"],
                               .bytes = static_cast<std::uint64_t>(bytes)});
  }
  return request;
}

Result<PreflightRequest> observe_preflight_request(System& system, const std::string& run_dir) {
  const auto allocation = observe_allocation(system);
  if (!allocation) return allocation.error();
  PreflightRequest request;
  if (*allocation) {
    request.job_id = (*allocation)->job_id;
    request.hosts = (*allocation)->hosts;
    constexpr std::uint64_t mib = 1 << 20;
    request.memory_bytes = number_in(system.environment("SLURM_MEM_PER_NODE").value_or("")) * mib;
  } else {
    request.hosts = {system.host_name()};
  }
  if (!run_dir.empty()) add_run(system, run_dir, request);
  return request;
}

}  // namespace dllaunch
