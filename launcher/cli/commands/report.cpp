// Summarises a run and merges its ranks' timelines.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/experiments/failure_options.hpp"
#include "launcher/failures/past_run.hpp"
#include "launcher/monitor/component_states.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/monitor/run_report.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/report/run_page.hpp"
#include "launcher/run/run_files.hpp"
#include "launcher/timeline/timeline_merge.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view report_examples =
    R"(  dllaunch report resnet50                       its summary, and where its ranks' time went
  dllaunch report resnet50 --timeline            one trace of all ranks, for ui.perfetto.dev
  dllaunch report resnet50 --html                a page: curves, ranks, node, restarts
  dllaunch report resnet50 --failures outages.csv   what failures cost, against a forecast
  dllaunch report 4711 --timeline --ranks 0-7,64 -o /tmp/t.json
)";

struct ReportArguments {
  std::string run;
  bool timeline = false;
  bool html = false;
  std::string output;
  std::string ranks;
  FailureQuestion failures;
  bool json = false;
};

Result<int> merge(const ReportArguments& options, const std::string& run, System& system) {
  std::optional<IdSet> ranks;
  if (!options.ranks.empty()) {
    auto list = parse_id_list(options.ranks);
    if (!list || list->empty())
      return Error{ErrorKind::bad_request, "--ranks is not a list of ranks: " + options.ranks,
                   "write numbers and ranges, such as 0-7,64"};
    ranks = *std::move(list);
  }
  const std::string output = options.output.empty() ? run + "/timeline.json" : options.output;
  auto merged = merge_timelines(run + "/timeline", ranks, output);
  if (!merged) return std::move(merged).error();
  if (options.json) {
    system.print(json_text(to_json(*merged)));
  } else {
    system.print(render_merged(*merged));
  }
  return exit_code::success;
}

Json so_far_of(System& system, const StoredRun& run) {
  return run.summary.is_null() ? cost_so_far(system, observe_run(system, run)) : Json();
}

Result<int> write_page(const ReportArguments& options, StoredRun run, System& system) {
  const bool ours = options.output.empty();
  const std::string output = ours ? run.dir.path + "/report.html" : options.output;
  const std::string job_file = run.dir.job_yaml();
  auto record = read_run_for_page(system, std::move(run));
  record.so_far = so_far_of(system, record.run);
  const std::string text = html_page(run_page(record));
  // It holds the job file: no more users may read it than may read that.
  auto written = write_file(output, text, ours ? readers_of(job_file) : Readers::none);
  if (!written) return std::move(written).error();
  if (options.json) {
    system.print(json_text({{"html", output}, {"bytes", text.size()}}));
  } else {
    system.print(output + "\n");
  }
  return exit_code::success;
}

Result<std::optional<FailureForecast>> forecast_if_asked(System& system,
                                                         const ReportArguments& options,
                                                         const StoredRun& run,
                                                         const PastRun& past) {
  if (!options.failures.asked()) return std::optional<FailureForecast>();
  // A training that began from nothing needs no file to be forecast.
  const auto train = run.trains ? system.read_file(run.dir.train_json()) : Result<std::string>("");
  auto forecast = forecast_of(system, options.failures,
                              {.plan = run.plan,
                               .trains = run.trains,
                               .train_json = train ? *train : std::string(),
                               .work_s = past.work_s,
                               .costs = costs_met(past),
                               .without_slurm = "leave out --failures: the report itself says "
                                                "what interrupted the run"});
  if (!forecast) return std::move(forecast).error();
  return std::optional(*std::move(forecast));
}

Result<int> report(const ReportArguments& options, System& system) {
  if (!options.output.empty() && !options.timeline && !options.html)
    return Error{ErrorKind::bad_request, "-o names the file of --html or --timeline", ""};
  auto path = find_run_to_read(system, options.run);
  if (!path) return std::move(path).error();
  if (options.timeline) return merge(options, *path, system);
  auto run = read_stored_run(system, *path);
  if (!run) return std::move(run).error();
  if (options.html) return write_page(options, *std::move(run), system);
  const auto ranks = last_ranks_event(run->dir.events());
  const auto places = places_of(*run);
  const auto so_far = so_far_of(system, *run);
  const auto past = read_past_run(*run);
  const auto asked = forecast_if_asked(system, options, *run, past);
  if (!asked) return asked.error();
  const auto* forecast = *asked ? &**asked : nullptr;
  const bool modular = !run->plan.components.empty();
  const auto components = modular
                              ? component_states(system, observe_run(system, *run), unix_seconds())
                              : std::vector<ComponentState>();
  if (options.json) {
    Json document = {{"summary", run->summary},
                     {"so_far", so_far},
                     {"ranks", ranks},
                     {"failures", to_json(past, forecast)},
                     {"jobs", places.jobs},
                     {"nodes", or_null(places.nodes)},
                     {"network", or_null(places.network)}};
    if (modular) document["components"] = to_json(components);
    system.print(json_text(document));
  } else {
    system.print(render_run_report(*run, places, ranks, so_far));
    system.print(render_past_run(past, forecast));
    for (const auto& line : lines_of(components)) system.print("  component " + line + "\n");
    if (modular)
      system.print(fmt::format("  `dllaunch report {}` reports on one component\n",
                               shell_quote(components.front().dir)));
  }
  return exit_code::success;
}

CommandBody declare_report(CommandOptions& app) {
  auto options = std::make_shared<ReportArguments>();
  app.add_option("RUN", options->run,
                 "a run directory, a run's or job's name, a job id [the newest run]");
  auto* timeline =
      app.add_flag("--timeline", options->timeline, "merge the ranks' timelines, on one clock");
  app.add_flag("--html", options->html, "one page that needs nothing else, for any browser")
      ->excludes(timeline);
  app.add_option("-o,--output", options->output,
                 "the page or the merged timeline [RUN/report.html, RUN/timeline.json]")
      ->type_name("FILE");
  app.add_option("--ranks", options->ranks, "only these ranks, as 0-7,64")
      ->type_name("LIST")
      ->needs(timeline);
  add_failure_options(app, options->failures);
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return report(*options, system); };
}

}  // namespace

extern const Command report_command;
const Command report_command{"report", "summarise a run, as a page too; merge its timelines",
                             report_examples, declare_report,
                             /*pages=*/true};

}  // namespace dllaunch
