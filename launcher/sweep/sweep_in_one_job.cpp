#include "launcher/sweep/sweep_in_one_job.hpp"

#include <string>
#include <utility>
#include <vector>

#include "launcher/launch/held_allocation.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/sweep/stored_sweep.hpp"

namespace dllaunch {

Result<int> run_sweep_in_one_job(System& system, const SweepRequest& request,
                                 PreparedSweep& prepared) {
  auto program = own_executable();
  if (!program) return std::move(program).error();
  std::vector<std::string> command = {*std::move(program), "sweep",     request.job_file,
                                      "--run-dir",         request.dir, "--allocated"};
  for (const auto& set : request.sets) command.insert(command.end(), {"--set", set});
  const auto stopped = execute_held(system, {.plan = *std::move(prepared.shared),
                                             .name = prepared.sweep.name + "-sweep",
                                             .dir = request.dir + "/allocation",
                                             .command = std::move(command)});
  prepared.shared.reset();
  if (!stopped) return stopped.error();
  auto stored = stored_sweep(system, request.dir);
  if (!stored) return std::move(stored).error();
  if (*stored) prepared.sweep = **std::move(stored);
  return *stopped;
}

}  // namespace dllaunch
