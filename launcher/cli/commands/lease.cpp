// Run in a batch script before the ranks start: takes run ownership for this incarnation.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/run/run_ownership.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view lease_examples =
    R"(  DLLAUNCH_GENERATION=$(dllaunch lease RUN) || exit 3
  export DLLAUNCH_GENERATION        in your own script, before it starts the ranks
)";

Result<int> lease(const std::string& path, System& system) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error).lexically_normal();
  auto taken = take_run_ownership({.path = error ? path : absolute.string()}, system);
  if (!taken) return std::move(taken).error();
  system.print(fmt::format("{}\n", taken->fencing_token()));
  return exit_code::success;
}

CommandBody declare_lease(CommandOptions& app) {
  auto path = std::make_shared<std::string>();
  app.add_option("DIR", *path, "the run's directory")->required();
  return [path](System& system) { return lease(*path, system); };
}

}  // namespace

extern const Command lease_command;
const Command lease_command{"lease", "take over a run's directory: earlier starts stop writing",
                            lease_examples, declare_lease};

}  // namespace dllaunch
