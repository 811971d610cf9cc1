// Diagnoses binding and placement: of this node, of a process, or of every rank of a job.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/doctor/examine.hpp"
#include "launcher/doctor/gather.hpp"
#include "launcher/launch/avoid_nodes.hpp"
#include "launcher/links/answer_links.hpp"
#include "launcher/links/links_report.hpp"
#include "launcher/nodes/book_comparison.hpp"
#include "launcher/nodes/node_book.hpp"
#include "launcher/nodes/node_witness.hpp"
#include "launcher/nodes/run_sightings.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/preflight/preflight.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view doctor_examples =
    R"(  dllaunch doctor                                this node, and how this shell is bound;
                                                 in an allocation: every rank of the job
  dllaunch doctor --pid 4711                     a running rank, and its job's other ranks here
  dllaunch doctor --bench                        also measure what a wrong binding costs here
  dllaunch doctor --preflight                    check this job's nodes, or this one, before a start
  dllaunch doctor --preflight --network          also measure the links between them
  dllaunch doctor --json                         for programs; exit code 4 on a failure
)";

struct DoctorArguments {
  int pid = 0;
  bool bench = false;
  bool json = false;
  bool preflight = false;
  bool network = false;           // pre-flight: also the links between the nodes
  std::string run_dir;            // pre-flight: the run whose folders and ranks are checked
  std::vector<std::string> skip;  // pre-flight checks
  int limit = 15;                 // seconds to wait for the nodes' answers
  std::string preflight_node;     // set by preflight() on each node
  std::string links_node;         // set by measure_links() on each node
  std::string node;               // a Slurm job; set by examine_allocation() on each node
};

Result<Report> examine(System& system, const DoctorArguments& options) {
  if (options.pid > 0) return examine_process(system, options.pid, options.bench);
  const auto allocation = observe_allocation(system);
  if (!allocation) return allocation.error();
  if (*allocation) return examine_allocation(system, **allocation, options.bench);
  return examine_here(system, options.bench);
}

/// Compares the figures with earlier ones, and adds them to the book.
void consult_node_book(System& system, const PreflightRequest& request, PreflightReport& report) {
  const auto book = find_node_book(system, site_node_book(system));
  if (!book) return;
  const auto cluster = request.job_id.empty() ? "" : cluster_in_job(system);
  const double now = unix_seconds();
  const auto read = read_node_book(*book);
  if (read) compare_with_book(read->all, cluster, now, report);
  const auto seen = sightings_of(report.nodes, report.exclude, cluster, request.job_id, now);
  const auto written = write_into_node_book(*book, seen, now);
  if (written) return;
  const auto& hint = written.error().hint;
  system.log(fmt::format("dllaunch: warning: {}\n", written.error().what));
  if (!hint.empty()) system.log(fmt::format("  try: {}\n", hint));
}

struct MeasuredLinks {
  LinkMeasurement measured = {};
  LinkBaseline baseline = {};
};

/// Measures the nodes that have answered the pre-flight, and adds what is found to its report.
Result<MeasuredLinks> measure_network(System& system, const PreflightRequest& request,
                                      PreflightReport& report) {
  LinkRequest asked{.job_id = request.job_id, .hosts = {}, .host_suffix = request.host_suffix};
  for (const auto& node : report.nodes) {
    const bool silent =
        std::ranges::any_of(node.checks, [](const auto& check) { return check.name == "answer"; });
    if (!silent) asked.hosts.push_back(node.node);
  }
  if (asked.hosts.size() < 2)
    return Error{ErrorKind::unavailable, "needs a job with two nodes or more", ""};
  auto measured = measure_links(system, asked);
  if (!measured) return std::move(measured).error();
  const auto& usual = measured->verdict.under_load;
  const PastLinks now{.hosts = asked.hosts.size(),
                      .interface = system.environment("NCCL_SOCKET_IFNAME").value_or(""),
                      .gbit_per_s = usual.gbit_per_s,
                      .us = usual.us};
  const auto baseline = compare_with_past(system, now, all_links_fine(measured->verdict));
  add_links(report, *measured, baseline);
  report.seconds += measured->seconds;
  return MeasuredLinks{*std::move(measured), baseline};
}

Result<int> show_preflight(System& system, const DoctorArguments& options) {
  std::string run_dir;
  if (!options.run_dir.empty()) {
    const auto paths = program_paths(options.run_dir);
    if (!paths) return paths.error();
    run_dir = paths->run_dir;
  }
  auto request = observe_preflight_request(system, run_dir);
  if (!request) return request.error();
  request->skip = options.skip;
  request->patience = std::chrono::seconds(options.limit);
  auto report = preflight(system, *request);
  if (!report) return std::move(report).error();
  std::optional<MeasuredLinks> links;
  if (options.network) {
    auto found = measure_network(system, *request, *report);
    // The rest of the pre-flight counts without it.
    if (found)
      links = *std::move(found);
    else
      system.log("dllaunch: warning: links: not measured: " + found.error().what + "\n");
  }
  consult_node_book(system, *request, *report);
  const Console& console = system.console();
  // On many nodes, passed checks would fill the screen.
  const bool all = console.verbosity > 0 || (console.verbosity == 0 && report->nodes.size() == 1);
  if (options.json) {
    auto document = to_json(*report);
    if (links) document["links"] = to_json(links->measured, links->baseline);
    system.print(json_text(document));
  } else {
    if (links) system.print(render_links(links->measured, links->baseline) + "\n");
    system.print(render_preflight(*report, console.color_out, all));
  }
  return all_ok(*report) ? exit_code::success : exit_code::found_problems;
}

Result<int> show(System& system, const DoctorArguments& options) {
  if (!options.preflight_node.empty()) {
    const auto answered = answer_preflight(system, options.preflight_node);
    if (!answered) return answered.error();
    return exit_code::success;
  }
  if (!options.links_node.empty()) {
    const auto answered = answer_links(system, options.links_node);
    if (!answered) return answered.error();
    return exit_code::success;
  }
  if (options.preflight) return show_preflight(system, options);
  if (!options.node.empty()) {
    const auto report = examine_job(system, options.node, options.bench);
    if (!report) return report.error();
    system.print(answer_lines(report->hosts.front(), to_json(*report)));
    return exit_code::success;
  }
  const auto report = examine(system, options);
  if (!report) return report.error();
  const Console& console = system.console();
  system.print(options.json ? json_text(to_json(*report))
                            : render_report(*report, console.columns, console.color_out));
  return worst(*report) == Level::fail ? exit_code::found_problems : exit_code::success;
}

CommandBody declare_doctor(CommandOptions& app) {
  auto options = std::make_shared<DoctorArguments>();
  app.add_option("--pid", options->pid, "a running process, and the other ranks of its job")
      ->type_name("P")
      ->range(1, 1 << 22);
  app.add_flag("--bench", options->bench,
               "measure memory and GPU copies too, near and far; takes seconds");
  app.add_flag("--json", options->json, "one JSON document");
  auto* preflight = app.add_flag("--preflight", options->preflight,
                                 "check the job's nodes before a start; takes seconds");
  app.add_option("--run-dir", options->run_dir, "with --preflight: also check this run's folders")
      ->type_name("DIR")
      ->needs(preflight);
  app.add_option("--skip", options->skip, "with --preflight: skip a check")
      ->type_name("CHECK")
      ->needs(preflight);
  app.add_option("--limit", options->limit, "with --preflight: how long to wait for the nodes")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->range(1, 3600)
      ->needs(preflight);
  app.add_flag("--network", options->network,
               "with --preflight: also measure the links between the nodes; up to 10 s")
      ->needs(preflight);
  app.add_option("--links-node", options->links_node)->group("");          // hidden
  app.add_option("--preflight-node", options->preflight_node)->group("");  // hidden
  app.add_option("--node", options->node)->group("");                      // hidden
  return [options](System& system) { return show(system, *options); };
}

}  // namespace

extern const Command doctor_command;
const Command doctor_command{"doctor", "check where ranks run, and suggest fixes", doctor_examples,
                             declare_doctor};

}  // namespace dllaunch
