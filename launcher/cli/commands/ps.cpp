// Lists the user's runs: queued, running, ended.
#include <fmt/core.h>

#include <chrono>
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view ps_examples =
    R"(  dllaunch ps          queued and running ones, and the last that ended; WHERE
                       is a host list, n[1-2], of Slurm's nodes, or without Slurm
                       the host; for an ended run, where its ranks ran last
  dllaunch ps --all    all recorded runs
  dllaunch ps --json   for programs
)";

struct PsArguments {
  bool all = false;
  bool json = false;
};

/// Lines are cut to the width of a terminal, and not cut in a pipe.
int columns_of(const Console& console) {
  constexpr int unlimited = 100'000;
  return console.terminal_out ? console.columns : unlimited;
}

Result<int> list_runs(System& system, const PsArguments& options) {
  constexpr std::size_t most_that_ended = 20;
  const auto run_states =
      observe_runs(system, options.all ? most_remembered_runs : most_that_ended);
  if (options.json) {
    auto document = Json::array();
    for (const auto& run_state : run_states) document.push_back(to_json(run_state));
    system.print(json_text(document));
    return exit_code::success;
  }
  if (run_states.empty()) {
    system.log("no runs yet: dllaunch JOB.yaml starts one\n");
    return exit_code::success;
  }
  system.print(render_runs(run_states, columns_of(system.console())));
  return exit_code::success;
}

CommandBody declare_ps(CommandOptions& app) {
  auto options = std::make_shared<PsArguments>();
  app.add_flag("--all", options->all, "all ended runs, not only the last 20");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return list_runs(system, *options); };
}

}  // namespace

extern const Command ps_command;
const Command ps_command{"ps", "list your runs: queued, running, ended", ps_examples, declare_ps,
                         /*pages=*/true};

}  // namespace dllaunch
