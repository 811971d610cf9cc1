#include "launcher/preflight/request.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include "launcher/os/stored_json.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "support/isolated_call.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds look_limit(2000);

std::uint64_t number_in(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns the size of the newest complete checkpoint: the next is written before an old one is
/// removed.
std::uint64_t room_for_checkpoint(const RunDir& run) {
  std::error_code error;
  std::uint64_t bytes = 0;
  for (fs::directory_iterator at(newest_checkpoint(run), error), end; !error && at != end;
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
  Json known{{"checkpoint_bytes", room_for_checkpoint(run)}};
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
  FieldReader field(known, nullptr);
  field("checkpoint_bytes", request.folders[1].bytes);
  field("ranks_per_node", request.ranks_per_node);
  field("host_suffix", request.host_suffix);
}

}  // namespace

template <typename Field>
void visit_fields(Field& field, FolderNeed& folder) {
  field.required("what", folder.what);
  field.required("path", folder.path);
  field.required("bytes", folder.bytes);
}

template <typename Field>
void visit_fields(Field& field, PreflightRequest& request) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  constexpr std::int64_t most_seconds = 1'000'000;
  auto patience_s = std::int64_t{request.patience.count()};
  field.required("job", request.job_id);
  field.required("hosts", as_text(request.hosts, compress_hosts, expand_hosts));
  field.required("folders", request.folders);
  field.required("ranks_per_node", within(request.ranks_per_node, -1, most));
  field.required("gpus_per_node", within(request.gpus_per_node, -1, most));
  field.required("memory_bytes", request.memory_bytes);
  field.required("host_suffix", request.host_suffix);
  field.required("skip", request.skip);
  field.required("patience_s", patience_s);
  field.required("mark", request.mark);
  if constexpr (Field::reads)
    request.patience = std::chrono::seconds(std::clamp(patience_s, std::int64_t{0}, most_seconds));
}

Json to_json(const PreflightRequest& request) {
  return write_fields(request);
}

Result<PreflightRequest> preflight_request_from_json(const Json& document) {
  PreflightRequest request;
  if (const auto problem = read_fields(document, request); !problem.empty())
    return Error{ErrorKind::bad_request, "no request for a pre-flight: " + problem,
                 "use the same dllaunch on all nodes"};
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
