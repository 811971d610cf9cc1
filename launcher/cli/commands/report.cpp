// Summarises a run and merges its ranks' timelines.
#include <memory>
#include <optional>
#include <string>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/run_report.hpp"
#include "launcher/timeline/timeline_merge.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view examples =
    R"(  dllaunch report resnet50                       its summary, and where its ranks' time went
  dllaunch report resnet50 --timeline            one trace of all ranks, for ui.perfetto.dev
  dllaunch report 4711 --timeline --ranks 0-7,64 -o /tmp/t.json
)";

struct Options {
  std::string run;
  bool timeline = false;
  std::string output;
  std::string ranks;
  bool json = false;
};

void print(System& system, const Json& document) {
  system.print(document.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) +
               "\n");
}

Result<int> merge(const Options& options, const std::string& run, System& system) {
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
    print(system, to_json(*merged));
  } else {
    system.print(render_merged(*merged));
  }
  return exit_code::success;
}

Result<int> report(const Options& options, System& system) {
  auto path = find_run_to_read(system, options.run);
  if (!path) return std::move(path).error();
  if (options.timeline) return merge(options, *path, system);
  auto run = read_stored_run(system, *path);
  if (!run) return std::move(run).error();
  const auto ranks = last_ranks_event(run->dir.events());
  const auto places = places_of(*run);
  if (options.json) {
    print(system, {{"summary", run->summary},
                   {"ranks", ranks},
                   {"jobs", places.jobs},
                   {"nodes", or_null(places.nodes)}});
  } else {
    system.print(render_run_report(*run, places, ranks));
  }
  return exit_code::success;
}

CommandBody declare(CommandOptions& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RUN", options->run,
                 "a run directory, a run's or job's name, a job id [the newest run]");
  auto* timeline =
      app.add_flag("--timeline", options->timeline, "merge the ranks' timelines, on one clock");
  app.add_option("-o,--output", options->output, "the merged timeline [RUN/timeline.json]")
      ->type_name("FILE")
      ->needs(timeline);
  app.add_option("--ranks", options->ranks, "only these ranks, as 0-7,64")
      ->type_name("LIST")
      ->needs(timeline);
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return report(*options, system); };
}

}  // namespace

extern const Command report_command;
const Command report_command{"report", "summarise a run; merge its timelines", examples, declare,
                             /*pages=*/true};

}  // namespace dllaunch
