// Checks a job file without a cluster.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "launcher/base/shell_quote.hpp"
#include "launcher/base/split.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/job/job_file.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view validate_examples =
    R"(  dllaunch validate train.yaml                        every error, with its position
  dllaunch validate train.yaml --set train.epochs=5   with one key changed
  dllaunch validate train.yaml --json                 for other programs
)";

struct ValidateArguments {
  std::string file;
  std::vector<std::string> sets;
  bool json = false;
};

std::string count_or_auto(const std::optional<int>& count) {
  return count ? std::to_string(*count) : "auto";
}

/// The command of `run:` as one would type it; of a script the number of its lines.
std::string command_shown(const Job& job) {
  const Json& run = job.resolved["run"];
  if (!run.is_string()) return shell_join(job.run_command);
  const auto text = run.get<std::string>();
  const auto lines = std::ranges::distance(split_lines(text));
  return lines == 1 ? text : fmt::format("{} lines of bash", lines);
}

std::string what_it_does(const Job& job) {
  if (job.train.is_null()) return "runs " + command_shown(job);
  const bool named = job.train["model"].is_string();
  const Json* kind = job.train.at_path({"dataset", "kind"});
  return fmt::format("trains {} on {}",
                     named ? job.train["model"].get<std::string>() : "layers of its own",
                     kind != nullptr ? kind->text() : "its data set");
}

/// The time limit with its unit: minutes, or the Slurm format it is written in.
std::string time_with_unit(const std::string& time) {
  const auto colons = static_cast<std::size_t>(std::ranges::count(time, ':'));
  if (time.find('-') != std::string::npos) {
    constexpr std::array forms = {"D-HH", "D-HH:MM", "D-HH:MM:SS"};
    return fmt::format("{} ({})", time, forms.at(colons));
  }
  if (colons == 0) return time + (time == "1" ? " minute" : " minutes");
  return fmt::format("{} ({})", time, colons == 1 ? "MM:SS" : "HH:MM:SS");
}

std::string summary(const Job& job) {
  std::string text;
  for (const auto& part : job.components) text += summary(part.job);
  if (!text.empty()) return text;
  const auto& gpus = job.resources.gpus;
  return fmt::format("  {}: {}\n  nodes {}, ranks per node {}, device {}, time {}\n", job.name,
                     what_it_does(job),
                     gpus ? "for " + counted(*gpus, "GPU") : std::to_string(job.resources.nodes),
                     count_or_auto(job.resources.ranks_per_node), job.resources.device,
                     job.resources.time ? time_with_unit(*job.resources.time) : "left to Slurm");
}

/// Only of options: a job file may name a cluster that is described elsewhere.
Result<Ok> check_cluster(System& system, const ValidateArguments& options, const Job& job) {
  const bool named = std::ranges::any_of(
      options.sets, [](const std::string& set) { return set.starts_with("cluster="); });
  if (named && job.cluster != "auto")
    if (auto profile = find_profile(system, job.cluster); !profile)
      return std::move(profile).error();
  return Ok{};
}

Result<int> answer_in_json(System& system, const ValidateArguments& options) {
  const auto text = system.read_file(options.file);
  if (!text) return Error{ErrorKind::bad_request, text.error().what, ""};
  const auto parsed = parse_job(*text, options.file, options.sets);
  Json problems = Json::array();
  for (const Diagnostic& problem : parsed.problems) {
    problems.push_back({{"file", problem.file},
                        {"line", problem.line},
                        {"column", problem.column},
                        {"message", problem.message}});
  }
  const auto known = parsed.job ? check_cluster(system, options, *parsed.job) : Ok{};
  if (!known)
    problems.push_back(
        {{"file", "--set"}, {"line", 1}, {"column", 1}, {"message", known.error().what}});
  const bool ok = parsed.job && known;
  const Json answer = {{"ok", ok}, {"problems", problems}};
  system.print(json_text(answer));
  return ok ? exit_code::success : exit_code::bad_request;
}

Result<int> validate(System& system, const ValidateArguments& options) {
  if (options.json) return answer_in_json(system, options);
  const auto job = load_any_job(system, options.file, options.sets);
  if (!job) return job.error();
  if (auto known = check_cluster(system, options, *job); !known) return std::move(known).error();
  system.print(options.file + ": ok\n");
  if (system.console().verbosity >= 0) system.print(summary(*job));
  return exit_code::success;
}

CommandBody declare_validate(CommandOptions& app) {
  auto options = std::make_shared<ValidateArguments>();
  add_job_options(app, options->file, options->sets);
  app.add_flag("--json", options->json, R"({"ok": ..., "problems": [...]} on stdout)");
  return [options](System& system) { return validate(system, *options); };
}

}  // namespace

extern const Command validate_command;
const Command validate_command{"validate", "check a job file, without a cluster", validate_examples,
                               declare_validate};

}  // namespace dllaunch
