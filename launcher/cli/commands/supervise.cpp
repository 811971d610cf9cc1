// In the batch script: owns the srun step; restarts it, requeues the job, or stops.
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/supervise/lone_ranks.hpp"
#include "launcher/supervise/own_components.hpp"
#include "launcher/supervise/rank_states.hpp"
#include "launcher/supervise/saving/save_request.hpp"
#include "launcher/supervise/script_watch.hpp"
#include "launcher/supervise/stage_holder.hpp"
#include "launcher/supervise/supervisor.hpp"
#include "launcher/supervise/supervisor_parent.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view supervise_examples =
    R"(  dllaunch supervise --run-dir DIR -- \
    srun -n4 dllaunch exec --run-dir DIR -- ./app
                                        what `dllaunch script` writes into the batch script
)";

struct SuperviseOptions {
  std::string run_dir;
  std::string run_id;
  std::string files;  // empty: run_dir has them
  bool states = false;
  std::optional<std::int64_t> kill_ranks;
  int signal = SIGKILL;
  std::string ask_ranks;
  bool components = false;
  std::string stage_holder;
  std::string watched;
  std::vector<std::string> start;
};

Result<int> watch_from_another_node(const SuperviseOptions& options, System& system) {
  auto stored = read_stored_run(system, options.run_dir);
  if (!stored) return std::move(stored).error();
  watch_script(system, {.dir = stored->dir,
                        .requeue_on = stored->plan.recovery.requeue_on,
                        .allocation = read_allocation(system),
                        .host = options.watched,
                        .trains = stored->trains});
  return exit_code::success;
}

/// For a script the user submitted directly, only Slurm knows the job.
void know_own_script(const SupervisedRun& run, System& system) {
  const auto& allocation = run.allocation;
  const bool first = allocation.restarts == 0 && allocation.name.empty();
  if (!first || allocation.job.empty() || access(run.dir.sbatch_script().c_str(), F_OK) == 0)
    return;
  if (const auto job = ask_of_job(system, allocation)) remember_own_script(system, run.dir, *job);
}

Result<int> supervise_run(const SuperviseOptions& options, System& system) {
  if (options.states) {
    system.print(rank_states_here(system, options.run_dir));
    return exit_code::success;
  }
  if (options.kill_ranks) {
    kill_ranks_of_start(options.run_dir, *options.kill_ranks, options.signal);
    return exit_code::success;
  }
  if (!options.ask_ranks.empty()) {
    auto asked = ask_ranks_here(system, options.run_dir, options.ask_ranks);
    if (!asked) return std::move(asked).error();
    return exit_code::success;
  }
  if (options.components) return own_components(system, options.run_dir, options.files);
  if (!options.watched.empty()) return watch_from_another_node(options, system);
  if (options.start.empty())
    return Error{ErrorKind::bad_request, "supervise: the start command is missing",
                 "dllaunch supervise --run-dir DIR -- srun ..."};
  auto stage_holder = StageHolder::from(options.stage_holder);
  if (!stage_holder) return std::move(stage_holder).error();
  auto run = read_supervised_run(system, options.run_dir, options.start, options.files);
  if (!run) return std::move(run).error();
  run->dir.id = options.run_id;
  know_own_script(*run, system);
  // A script may have been written elsewhere. The run does without if its folder refuses.
  if (!run->recovery.trains) (void)prepare_autopsy(run->dir.path, run->recovery.plan.autopsy);
  const SupervisorSignals signals(run->signal);
  const int code = run_under_parent(signals, [&] {
    stage_holder->close_input();
    return supervise(system, *run);
  });
  stage_holder->let_go();
  return code;
}

CommandBody declare_supervise(CommandOptions& app) {
  auto options = std::make_shared<SuperviseOptions>();
  app.add_option("--run-dir", options->run_dir, "the run's directory: plan, logs, supervisor.jsonl")
      ->type_name("DIR")
      ->required();
  app.add_option("--run-id", options->run_id, "do nothing where RUN/.run-id is another")
      ->type_name("WORD")
      ->group("");
  app.add_option("--files", options->files, "copies of what the run executes, elsewhere")
      ->type_name("DIR")
      ->group("");
  app.add_flag("--states", options->states, "print what the run's processes on this node do")
      ->group("");
  app.add_option("--kill-ranks", options->kill_ranks,
                 "kill the ranks on this node that the start with this fencing token began")
      ->type_name("N")
      ->group("");
  app.add_option("--signal", options->signal, "of --kill-ranks [9]")
      ->type_name("N")
      ->range(1, SIGRTMAX)
      ->group("");
  app.add_option("--ask-ranks", options->ask_ranks,
                 "ask the ranks on this node to save: signal, fencing token, patience")
      ->type_name("N:N:SECONDS")
      ->group("");
  app.add_flag("--components", options->components,
               "own the components of a heterogeneous job: start their scripts, end them together")
      ->group("");
  app.add_option("--keeper", options->stage_holder,
                 "the process that keeps staged copies until its input is closed")
      ->type_name("FD:PID")
      ->group("");
  app.add_option("--watch-script", options->watched,
                 "in a step on another node: requeue the job when this one is lost")
      ->type_name("NODE")
      ->group("");
  app.add_option("START", options->start, "the srun or mpirun command, after --");
  return [options](System& system) { return supervise_run(*options, system); };
}

}  // namespace

extern const Command supervise_command;
const Command supervise_command{"supervise",
                                "own a job's ranks: restart, requeue or stop when they end",
                                supervise_examples, declare_supervise};

}  // namespace dllaunch
