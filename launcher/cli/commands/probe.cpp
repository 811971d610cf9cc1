// Records the topology of a cluster's nodes, observed from inside jobs.
#include <fmt/core.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <memory>

#include "launcher/base/version.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/probe/probe.hpp"
#include "launcher/probe/render_probe.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json.hpp"
#include "topology/discovery/discover_hwloc.hpp"
#include "topology/discovery/discover_hwloc_xml.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view probe_examples =
    R"(  dllaunch probe gpu                             one job per node type of partition gpu
  dllaunch probe                                 of every partition
  dllaunch probe gpu --account project_1 --within 60
  dllaunch probe --list                          known node types, and when they were probed
)";

struct ProbeArguments {
  std::string partition;
  ProbeOptions probe;
  int within_minutes = 10;
  bool list = false;
  bool capture = false;
  bool json = false;
};

std::string first_line(System& system, const std::string& path) {
  const auto text = system.read_file(path);
  return text ? text->substr(0, text->find('\n')) : "";
}

/// Inside the job: prints this node's description for the waiting `dllaunch probe`.
Result<int> capture_here(System& system) {
  auto topology = system.topology(DeviceNames::read);
  if (!topology) return std::move(topology).error();
  auto xml = machine_xml();
  if (!xml) return std::move(xml).error();
  Capture capture{.node = {.host = system.host_name(),
                           .kernel = first_line(system, "/proc/sys/kernel/osrelease"),
                           .dllaunch = std::string(version()),
                           .hwloc = hwloc_version(),
                           .topology = *std::move(topology)},
                  .xml = *std::move(xml)};
  // Drivers that are part of the kernel have no version of their own.
  for (const auto* driver : {"nvidia", "amdgpu", "i915", "xe"})
    if (auto text = first_line(system, fmt::format("/sys/module/{}/version", driver));
        !text.empty())
      capture.node.drivers.emplace_back(driver, text);
  system.print(render_capture(capture));
  return exit_code::success;
}

Result<int> list(System& system, bool json) {
  const auto cache = read_probe_cache(system, std::nullopt);
  const auto folder = probe_cache_folder(system).value_or("");
  const auto now = std::time(nullptr);
  if (json) {
    system.print(json_text(probe_list_json(cache, folder, now)));
    return exit_code::success;
  }
  for (const auto& complaint : cache.complaints) system.log("warning: " + complaint + "\n");
  if (cache.nodes.empty())
    system.log("nothing probed yet; run `dllaunch probe PARTITION`\n");
  else
    system.print(render_probe_list(cache.nodes, now));
  return exit_code::success;
}

/// A temporary folder below the current directory, which the nodes are likely to share.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& parent) : path_(parent + "/.dllaunch-probe-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<int> tell(const ProbeOutcome& outcome, bool json, System& system) {
  system.print(json ? json_text(probes_json(outcome)) : render_probes(outcome));
  for (const auto& [target, why] : outcome.missed)
    system.log(fmt::format("dllaunch: {} skipped: {}\n",
                           fmt::format("partition {}, {}", target.places.front().partition,
                                       compress_hosts(target.type.hosts)),
                           why));
  if (outcome.stopped_by != 0) return 128 + outcome.stopped_by;
  return outcome.kept.empty() ? exit_code::environment : exit_code::success;
}

Result<int> probe(const ProbeArguments& options, System& system) {
  if (options.capture) return capture_here(system);
  if (options.list) return list(system, options.json);
  const auto facts = observe(system);
  if (!facts) return facts.error();
  if (!facts->slurm)
    return Error{ErrorKind::unavailable, "no Slurm here: " + facts->why_no_slurm,
                 "`dllaunch topo` shows this machine"};
  const auto targets = probe_targets(*facts->slurm, options.partition);
  if (!targets) return targets.error();
  const auto paths = program_paths("");
  if (!paths) return paths.error();
  const ScratchFolder scratch(paths->work_dir);
  if (scratch.path().empty() || scratch.path().find('\\') != std::string::npos)
    return Error{ErrorKind::bad_request,
                 fmt::format("cannot write the jobs' output to {}", paths->work_dir),
                 "call dllaunch in a writable folder of a shared file system"};
  const auto outcome = execute_probes(*facts->slurm, *targets, system,
                                      {.options = options.probe,
                                       .program = paths->dllaunch,
                                       .folder = scratch.path(),
                                       .within = std::chrono::minutes(options.within_minutes)});
  return tell(outcome, options.json, system);
}

CommandBody declare_probe(CommandOptions& app) {
  auto options = std::make_shared<ProbeArguments>();
  app.add_option("PARTITION", options->partition, "the partition [all]");
  app.add_option("--within", options->within_minutes, "how long to wait for the jobs")
      ->type_name("MINUTES")
      ->range(1, 10080)
      ->capture_default_str();
  app.add_option("--account", options->probe.account, "account to charge")->type_name("NAME");
  app.add_option("--qos", options->probe.qos, "quality of service")->type_name("NAME");
  app.add_option("--reservation", options->probe.reservation, "reservation to use")
      ->type_name("NAME");
  app.add_flag("--list", options->list, "list known node types; submit nothing");
  app.add_flag("--capture", options->capture)->group("");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return probe(*options, system); };
}

}  // namespace

extern const Command probe_command;
const Command probe_command{"probe", "record each node type for plans, with one small job per type",
                            probe_examples, declare_probe};

}  // namespace dllaunch
