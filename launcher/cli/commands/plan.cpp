// Prints the plan; starts and submits nothing.
#include <memory>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/experiments/failure_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/failures/render_forecast.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/ask_stages.hpp"
#include "launcher/launch/prepare_components.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/run/run_dir.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view plan_examples =
    R"(  dllaunch plan train.yaml                       where each rank runs, and the start command
  dllaunch plan train.yaml --set resources.nodes=4
  dllaunch plan train.yaml --cluster lumi-g      for another cluster
  dllaunch plan train.yaml --check               also check files, limits and accounts
  dllaunch plan train.yaml --failures outages.csv   what failing nodes will cost
  dllaunch plan train.yaml --json
)";

struct PlanArguments {
  PlanOptions plan;
  FailureQuestion failures;
  bool check = false;
  bool json = false;
};

/// A plan, with what the ranks of a pipeline or of split layers would hold, and what failures cost.
struct Shown {
  Json document;
  std::string text;
};

Result<Ok> add_forecast(System& system, const FailureQuestion& question, const LaunchPlan& plan,
                        Shown& shown) {
  const auto forecast =
      forecast_of(system, question,
                  {.plan = plan,
                   .trains = !plan.train_json.empty(),
                   .train_json = plan.train_json,
                   .without_slurm = "pass --facts, or name the cluster in the job file"});
  if (!forecast) return forecast.error();
  const double now_s = unix_seconds();
  shown.document["forecast"] = to_json(*forecast, now_s);
  shown.text += "\n" + render_forecast(*forecast, now_s);
  return Ok{};
}

Result<Shown> shown(System& system, const LaunchPlan& plan, const FailureQuestion& failures) {
  const auto stages = ask_stages(system, plan);
  if (!stages) return stages.error();
  const auto split = ask_split(system, plan);
  if (!split) return split.error();
  Shown shown{to_json(plan), render_plan(plan)};
  if (*stages) {
    shown.document["pipeline"] = to_json(**stages);
    shown.text += render_stages(**stages);
  }
  if (*split) {
    shown.document["split_dense"] = to_json(**split);
    shown.text += render_split(**split);
  }
  if (failures.asked()) {
    if (auto added = add_forecast(system, failures, plan, shown); !added)
      return std::move(added).error();
  }
  return shown;
}

/// The plan, if there is one, and every problem of the job.
Result<int> show_checked(System& system, const PlanArguments& options) {
  const auto checked = check_job(system, options.plan);
  if (!checked) return checked.error();
  const auto& made = checked->plan;
  const auto& report = checked->report;
  if (!made && report.findings.empty()) return made.error();
  auto found =
      made ? shown(system, *made, options.failures) : Result<Shown>(Shown{Json::object(), ""});
  if (!found) return std::move(found).error();
  if (options.json) {
    found->document["checks"] = to_json(report);
    system.print(json_text(found->document));
  } else {
    system.print((made ? found->text + "\n" : "") + render_report(report));
  }
  if (report.passed()) return exit_code::success;
  return exit_code_of(as_error(report).kind);
}

/// Of a job with components.
Result<int> show_modular(System& system, const PlanArguments& options, const Job& job) {
  const auto paths = program_paths(new_run_path(job.name));
  if (!paths) return paths.error();
  auto planned = plan_components(system, options.plan, job, *paths, options.check);
  if (!planned) return std::move(planned).error();
  const auto& report = planned->report;
  if (options.json) {
    auto document = to_json(planned->plan);
    if (options.check) document["checks"] = to_json(report);
    system.print(json_text(document));
  } else {
    system.print(render_plan(planned->plan));
    if (options.check) system.print("\n" + render_report(report));
  }
  return report.passed() ? exit_code::success : exit_code_of(as_error(report).kind);
}

Result<int> no_forecast_of_components() {
  return Error{ErrorKind::bad_request, "--failures does not know jobs with components",
               "forecast each component's job file by itself"};
}

Result<int> show_plan(System& system, const PlanArguments& options) {
  if (const auto job = modular_job(system, options.plan.job, options.plan.sets))
    return options.failures.asked() ? no_forecast_of_components()
                                    : show_modular(system, options, *job);
  if (options.check) return show_checked(system, options);
  const auto made = plan_job(system, options.plan);
  if (!made) return made.error();
  const auto found = shown(system, *made, options.failures);
  if (!found) return found.error();
  system.print(options.json ? json_text(found->document) : found->text);
  return exit_code::success;
}

CommandBody declare_plan(CommandOptions& app) {
  auto options = std::make_shared<PlanArguments>();
  add_job_options(app, options->plan.job, options->plan.sets);
  app.add_option("--facts", options->plan.facts, "plan for the cluster recorded in FILE")
      ->type_name("FILE");
  app.add_flag("--local", options->plan.local, "this machine only, even if it has Slurm");
  app.add_flag("--check", options->check, "check for what would fail in the queue or after it");
  add_failure_options(app, options->failures);
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return show_plan(system, *options); };
}

}  // namespace

extern const Command plan_command;
const Command plan_command{"plan", "show where each rank would run; start nothing", plan_examples,
                           declare_plan, /*pages=*/true};

}  // namespace dllaunch
