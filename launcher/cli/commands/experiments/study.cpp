// Measures how a job scales with its ranks.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/table.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/submit_folder.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "launcher/study/run_study.hpp"
#include "support/counted.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view study_examples =
    R"(  dllaunch study train.yaml --ranks 1,2,4,8            the same work on 1 to 8 ranks
  dllaunch study train.yaml --nodes 1,2,4 --repeats 3  with the extent of three repeats
  dllaunch study train.yaml --ranks 1,2,4 --weak       the same work on every rank
  dllaunch study train.yaml --nodes 1,8 --separate     on Slurm, a job for each run
  dllaunch study train.yaml --ranks 1,2 --dry-run      the runs, and nothing else
)";

struct StudyArguments {
  std::string job;
  std::vector<std::string> sets;
  std::string ranks;
  std::string nodes;
  bool weak = false;
  int repeats = 1;
  double efficiency = 0.8;
  std::string allreduce;
  bool local = false;
  bool separate = false;
  bool allocated = false;
  std::string dir;
  bool dry_run = false;
  bool json = false;
};

Result<std::vector<int>> numbers_in(const char* option, const std::string& text) {
  std::vector<int> numbers;
  for (const auto part : split_at(text, ',')) {
    const auto number = parse_number<int>(part);
    if (!number || *number > 1 << 20)
      return Error{ErrorKind::bad_request,
                   fmt::format("{} is not a list of numbers: {}", option, text), "such as 1,2,4,8"};
    numbers.push_back(*number);
  }
  return numbers;
}

Result<StudyRequest> request_of(const StudyArguments& options) {
  StudyRequest request{.job_file = options.job,
                       .sets = options.sets,
                       .repeats = options.repeats,
                       .efficiency = options.efficiency,
                       .local = options.local,
                       .separate = options.separate,
                       .allocated = options.allocated,
                       .allreduce = options.allreduce};
  if (options.repeats < 1 || options.repeats > 99)
    return Error{ErrorKind::bad_request, "--repeats is 1 to 99", ""};
  if (!(options.efficiency > 0 && options.efficiency <= 1))
    return Error{ErrorKind::bad_request, "--efficiency is above 0 and at most 1", "such as 0.8"};
  if (options.weak) request.wanted.scaling = Scaling::weak;
  for (const auto& [option, text, into] :
       {std::tuple("--ranks", &options.ranks, &request.wanted.ranks),
        std::tuple("--nodes", &options.nodes, &request.wanted.nodes)}) {
    if (text->empty()) continue;
    auto numbers = numbers_in(option, *text);
    if (!numbers) return std::move(numbers).error();
    *into = *std::move(numbers);
  }
  return request;
}

std::int64_t missing_runs(const PreparedStudy& prepared, int ranks) {
  return std::ranges::count_if(prepared.study.runs, [ranks](const StudyRun& run) {
    return run.ranks == ranks && !run.value.has_value();
  });
}

/// Upper bounds of what the runs to make cost.
struct MostCost {
  double node_hours = 0;
  std::optional<double> core_hours = {};  // of what the job keeps others from using
};

/// nullopt: without a time limit there is none.
std::optional<MostCost> most_cost(const PreparedStudy& prepared) {
  const auto& limit = prepared.job.resources.time;
  const auto minutes = limit ? parse_slurm_minutes(*limit) : std::nullopt;
  if (!minutes) return std::nullopt;
  const auto& shared = prepared.shared;
  MostCost cost;
  for (const StudySize& size : prepared.sizes) {
    const int nodes = shared ? shared->nodes + shared->recovery.spare_nodes : size.nodes;
    cost.node_hours +=
        nodes * *minutes / 60.0 * static_cast<double>(missing_runs(prepared, size.ranks));
  }
  if (prepared.cores_of_node) cost.core_hours = cost.node_hours * *prepared.cores_of_node;
  return cost;
}

std::string dry_run_text(const PreparedStudy& prepared) {
  std::vector<TableRow> rows = {{"ranks", "nodes", "runs", "changed"}};
  for (const StudySize& size : prepared.sizes)
    rows.push_back({std::to_string(size.ranks), std::to_string(size.nodes),
                    std::to_string(missing_runs(prepared, size.ranks)),
                    fmt::format("{}", fmt::join(size.sets, " "))});
  const auto jobs = prepared.shared ? fmt::format("one job of {} for all runs",
                                                  counted(prepared.shared->nodes, "node"))
                                    : "one run after another";
  const auto cost = most_cost(prepared);
  const auto bound = !cost ? "without resources.time their cost has no bound"
                     : cost->core_hours
                         ? fmt::format("at most {:.4g} node-hours, {:.4g} core-hours",
                                       cost->node_hours, *cost->core_hours)
                         : fmt::format("at most {:.4g} node-hours", cost->node_hours);
  return table_text(rows) + fmt::format("{}: {}\n", jobs, bound);
}

Json dry_run_json(const PreparedStudy& prepared) {
  Json runs = Json::array();
  for (const StudyRun& run : prepared.study.runs) {
    const auto size = std::ranges::find_if(
        prepared.sizes, [&run](const StudySize& one) { return one.ranks == run.ranks; });
    if (run.value || size == prepared.sizes.end()) continue;
    runs.push_back(
        {{"ranks", run.ranks}, {"nodes", run.nodes}, {"repeat", run.repeat}, {"sets", size->sets}});
  }
  const auto cost = most_cost(prepared);
  Json most = nullptr;
  if (cost)
    most = {{"node_hours", cost->node_hours},
            {"core_hours", cost->core_hours ? Json(*cost->core_hours) : Json()}};
  return {{"runs", runs}, {"one_job", prepared.shared.has_value()}, {"at_most", most}};
}

Result<int> study(const StudyArguments& options, System& system) {
  auto request = request_of(options);
  if (!request) return std::move(request).error();
  if (options.dir.empty()) {
    const auto job = load_job(system, options.job, options.sets);
    if (!job) return job.error();
    request->dir = new_run_path(job->name + "-study");
  } else {
    request->dir = std::filesystem::absolute(options.dir).lexically_normal().string();
    if (!request->allreduce.empty())
      request->allreduce = std::filesystem::absolute(request->allreduce).string();
    auto entered = enter_submit_folder(system, request->dir, request->job_file);
    if (!entered) return std::move(entered).error();
  }
  auto prepared = prepare_study(system, *request);
  if (!prepared) return std::move(prepared).error();
  if (options.dry_run) {
    if (options.json) {
      system.print(json_text(dry_run_json(*prepared)));
    } else {
      system.print(dry_run_text(*prepared));
    }
    return exit_code::success;
  }
  const auto runs = std::ssize(prepared->study.runs);
  system.log(fmt::format("{}: {}, {}\n", prepared->study.name, counted(runs, "run"), request->dir));
  const auto stopped = prepared->shared ? run_study_in_one_job(system, *request, *prepared)
                                        : run_study(system, *request, *prepared);
  if (!stopped) return stopped.error();
  const Study& done = prepared->study;
  const auto result = result_of(done);
  if (options.json) {
    system.print(json_text(to_json(done, result)));
  } else {
    system.print(render_study(done, result));
    system.print(fmt::format("  page  {}/study.html\n", request->dir));
  }
  if (*stopped != 0) {
    system.log(fmt::format("dllaunch: stopped; the same command with --run-dir {} continues\n",
                           shell_quote(request->dir)));
    return 128 + *stopped;
  }
  const bool whole =
      std::ranges::all_of(done.runs, [](const StudyRun& run) { return run.value.has_value(); });
  return whole ? exit_code::success : exit_code::job_failed;
}

CommandBody declare_study(CommandOptions& app) {
  auto options = std::make_shared<StudyArguments>();
  add_job_options(app, options->job, options->sets);
  auto* ranks =
      app.add_option("--ranks", options->ranks, "how many ranks, as 1,2,4,8")->type_name("LIST");
  app.add_option("--nodes", options->nodes, "or how many nodes, each full of ranks")
      ->type_name("LIST")
      ->excludes(ranks);
  app.add_flag("--weak", options->weak, "the same work on every rank [the same work in all]");
  app.add_option("--repeats", options->repeats, "measure each size so often [1]")->type_name("N");
  app.add_option("--efficiency", options->efficiency, "the least that is worth it [0.8]")
      ->type_name("E");
  app.add_option("--allreduce", options->allreduce,
                 "bound the exchange by what `bench allreduce --json` measured")
      ->type_name("FILE");
  auto* local = app.add_flag("--local", options->local, "on this machine, even if it has Slurm");
  auto* separate =
      app.add_flag("--separate", options->separate,
                   "each run is a Slurm job [one job, whose first nodes each size takes]")
          ->excludes(local);
  app.add_flag("--allocated", options->allocated,
               "in the Slurm allocation around this command, without a new job")
      ->excludes(local)
      ->excludes(separate);
  app.add_option("--run-dir", options->dir, "directory of the study; an unfinished one continues")
      ->type_name("DIR");
  app.add_flag("--dry-run", options->dry_run, "print the runs; start nothing");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return study(*options, system); };
}

}  // namespace

extern const Command study_command;
const Command study_command{"study", "measure how a job scales", study_examples, declare_study};

}  // namespace dllaunch
