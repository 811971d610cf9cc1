// Ranks shapes of a job by when they would finish.
#include <memory>
#include <string>
#include <vector>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/job_options.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/queue/soonest.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view when_examples =
    R"(  dllaunch when train.yaml                            which shape of it finishes first
  dllaunch when train.yaml --set resources.time=4:00:00  if it took four hours
  dllaunch run train.yaml --soonest                   submits the first of the list
)";

struct WhenArguments {
  SoonestRequest request;
  bool json = false;
};

Result<int> when(const WhenArguments& options, System& system) {
  const auto found = find_soonest(system, options.request);
  if (!found) return found.error();
  system.print(options.json ? json_text(to_json(*found)) : render_soonest(*found));
  return exit_code::success;
}

CommandBody declare_when(CommandOptions& app) {
  auto options = std::make_shared<WhenArguments>();
  add_job_options(app, options->request.job_file, options->request.sets);
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) { return when(*options, system); };
}

}  // namespace

extern const Command when_command;
const Command when_command{"when", "when shapes of a job would start and finish", when_examples,
                           declare_when};

}  // namespace dllaunch
