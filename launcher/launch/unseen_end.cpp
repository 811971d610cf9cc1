#include "launcher/launch/unseen_end.hpp"

#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/monitor/run_status.hpp"
#include "launcher/run/run_files.hpp"

namespace dllaunch {

bool show_unseen_end(System& system, const RunDir& run, const Job& job) {
  const auto before = system.read_file(run.job_yaml());
  if (!before || *before != job_text(job)) return false;
  auto state = observe_end(system, run.path);
  if (!state || state->state != "completed") return false;
  system.log(
      "dllaunch: this run's job has completed; the same command once more starts it again\n");
  system.print(render_status(status_of(*std::move(state), unix_seconds())));
  return true;
}

}  // namespace dllaunch
