// Starts ranks on this machine, without mpirun.
#include <cstdlib>
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/rank/framework_environment.hpp"
#include "launcher/supervise/spawn_ranks.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view spawn_examples =
    R"(  dllaunch spawn --np 4 -- dllaunch exec --framework pytorch -- python3 train.py
                                        four ranks on this machine
)";

struct SpawnOptions {
  int ranks = 1;
  std::vector<std::string> command;
};

CommandBody declare_spawn(CommandOptions& app) {
  constexpr int most_ranks = 4096;
  auto options = std::make_shared<SpawnOptions>();
  app.add_option("--np", options->ranks, "number of ranks [1]")
      ->type_name("N")
      ->range(1, most_ranks);
  app.add_option("CMD", options->command, "what each rank executes, after --")->required();
  return [options](System& system) {
    for (const auto& name :
         inherited_variables(process_variables(), RankStarter::spawn, process_environment()))
      unsetenv(name.c_str());
    return spawn_ranks(options->ranks, options->command, system);
  };
}

}  // namespace

extern const Command spawn_command;
const Command spawn_command{"spawn", "start ranks on this machine, without MPI", spawn_examples,
                            declare_spawn};

}  // namespace dllaunch
