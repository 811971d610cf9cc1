#include "launcher/launch/local.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>

#include "launcher/accounting/rapl.hpp"
#include "launcher/base/exit_code.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/launch/openmpi_scratch.hpp"
#include "launcher/os/ask_ranks.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/owned_process.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/os/trial_file.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/stage.hpp"
#include "launcher/postmortem/failure_summary.hpp"
#include "launcher/presubmit/before_queue.hpp"
#include "launcher/presubmit/module_checks.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/run/run_ownership.hpp"
#include "launcher/staging/stage_job.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t most_starter_bytes = 65536;
constexpr seconds last_warning(8);  // from TERM to KILL

/// Does what the batch script does under Slurm: $1 activate, $2 setup, $3 number of modules; then
/// the command.
constexpr const char* prepare_script = R"(activate=$1 setup=$2 modules=$3
shift 3
if [ "$modules" -gt 0 ]; then
  if ! type module >/dev/null 2>&1; then
    for init in /etc/profile.d/{lmod,z00_lmod,modules}.sh; do
      if [ -r "$init" ]; then . "$init"; break; fi
    done
  fi
  module purge && module load "${@:1:modules}" || exit 3
  shift "$modules"
fi
if [ -n "$activate" ]; then
  if [ -d "$activate/conda-meta" ]; then
    export CONDA_PREFIX="$activate" PATH="$activate/bin:$PATH"
  elif [ -r "$activate/bin/activate" ]; then
    . "$activate/bin/activate" || exit 3
  else
    echo "environment.activate: no venv and no conda prefix: $activate" >&2
    exit 3
  fi
fi
set -eo pipefail
eval "$setup"
exec "$@"
)";

bool needs_preparation(const LaunchPlan& plan) {
  return !plan.modules.empty() || !plan.activate.empty() || !plan.setup.empty();
}

/// Copies of `stage:` on this machine; the destructor removes them.
class LocalStage {
 public:
  explicit LocalStage(System& system) : scratch_(node_disk(system)) {}
  std::string folder() const { return stage_folder(scratch_.path(), "local"); }

  Result<Ok> fill(const LaunchPlan& plan, System& system) const {
    StageJob job{.request = {.folder = folder(),
                             .sources = plan.stage.sources,
                             .run_dir = plan.paths.run_dir}};
    if (plan.stage.programs) job.programs = {plan.paths.dllaunch};
    if (plan.stage.programs && !plan.train_json.empty()) job.programs.push_back(plan.paths.dltrain);
    return stage_on_all_nodes(system, job);
  }

 private:
  ScratchFolder scratch_;
};

std::vector<std::string> start_of(const LaunchPlan& plan, const std::optional<LocalStage>& stage) {
  auto start = plan.start;
  // The shim substitutes its program's arguments itself.
  if (stage)
    for (auto& word : start.shim)
      if (word == staged_program(plan.paths.dllaunch)) word = with_stage(word, stage->folder());
  return start.argv();
}

/// The user's settings, from the job file or the environment, take precedence.
std::vector<std::pair<std::string, std::string>> environment_of(
    const LaunchPlan& plan, const std::optional<OpenMpiScratch>& scratch, System& system) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto unless_set = [&](const std::string& name, const std::string& value) {
    const bool in_job = std::ranges::any_of(
        plan.environment, [&](const auto& variable) { return variable.first == name; });
    if (!in_job && !system.environment(name)) all.emplace_back(name, value);
  };
  if (scratch) {
    if (geteuid() == 0) {
      unless_set("OMPI_ALLOW_RUN_AS_ROOT", "1");
      unless_set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    // Inside an allocation mpirun would use its nodes; a local run must not. PRTE is Open MPI 5's.
    for (const char* name : {"OMPI_MCA_ras", "OMPI_MCA_plm", "PRTE_MCA_ras", "PRTE_MCA_plm"})
      unless_set(name, "^slurm");
    // With its netlink component each rank of Open MPI 5.0.7 complains that it reaches no other.
    unless_set("OMPI_MCA_reachable", "weighted");
    for (const auto& [name, value] : scratch->variables()) unless_set(name, value);
  }
  all.emplace_back("DLLAUNCH_RUN_DIR", plan.paths.run_dir);
  all.insert(all.end(), plan.environment.begin(), plan.environment.end());
  return all;
}

/// Escalates a stop from a request to SIGKILL.
class Stop {
 public:
  Stop(const LaunchPlan& plan, Follower& follower, std::int64_t fencing_token)
      : plan_(plan), follower_(follower), fencing_token_(fencing_token) {}

  void look(const StopSignals& signals, const OwnedProcess& starter) {
    if (signals.count() == 0) return;
    const auto now = Clock::now();
    const bool hurried = signals.count() > seen_ && stage_ != Stage::none;
    seen_ = signals.count();
    if (stage_ == Stage::none) {
      ask(starter);
      // No rank has started: nothing to save.
      next_at_ = now + (stage_ == Stage::asked ? seconds(plan_.grace_seconds) : last_warning);
    } else if (stage_ == Stage::asked && (hurried || now >= next_at_)) {
      follower_.say(hurried
                        ? "dllaunch: ending the ranks now"
                        : fmt::format("dllaunch: the ranks did not stop within {} s; ending them",
                                      plan_.grace_seconds));
      starter.send(SIGTERM);
      stage_ = Stage::terminated;
      next_at_ = now + last_warning;
    } else if (stage_ == Stage::terminated && (hurried || now >= next_at_)) {
      kill(-starter.pid(), SIGKILL);
      stage_ = Stage::killed;
    }
  }

 private:
  enum class Stage { none, asked, terminated, killed };

  /// If no rank acts on the plan's signal, all get TERM. If some do, the others may be needed for
  /// what these save.
  void ask(const OwnedProcess& starter) {
    AskRanks ranks({{"DLLAUNCH_RUN_DIR", plan_.paths.run_dir},
                    {fencing_token_variable, std::to_string(fencing_token_)}},
                   signal_of_name(plan_.signal), starter.pid());
    const bool asked = !ranks.look(/*last=*/true).empty();
    const auto& others = ranks.without_handler();
    follower_.say(
        asked || others.empty()
            ? fmt::format("dllaunch: asked the ranks to save and stop (up to {} s); press Ctrl-C "
                          "again to end them now",
                          plan_.grace_seconds)
            : fmt::format("dllaunch: no rank handles {}, which asks it to save: asked them to end "
                          "(up to {} s); press Ctrl-C again to end them now",
                          plan_.signal, plan_.grace_seconds));
    for (const auto& [rank, pids] : others)
      for (const pid_t pid : pids)
        if (!asked) kill(pid, SIGTERM);
    const bool any = asked || !others.empty();
    if (!any) starter.send(SIGTERM);
    stage_ = any ? Stage::asked : Stage::terminated;
  }

  const LaunchPlan& plan_;
  Follower& follower_;
  std::int64_t fencing_token_;
  Stage stage_ = Stage::none;
  int seen_ = 0;
  Clock::time_point next_at_;
};

/// Waits without a limit: a training job has no deadline here.
int wait_for_end(OwnedProcess& starter, const StopSignals& signals, Stop& stop, Follower& follower,
                 RaplMeter& meter) {
  while (true) {
    if (const auto code = starter.poll()) return *code;
    stop.look(signals, starter);
    follower.poll();
    meter.look();
    signals.wait(milliseconds(50), starter.end_fd());
  }
}

std::uintmax_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

/// Of a starter that exited with 0.
Outcome proven_by_ranks(const LaunchPlan& plan, const RunDir& run, std::int64_t fencing_token,
                        double since_s, const std::string& output) {
  if (plan.start.shim.empty()) return {};
  const auto start = ranks_of_start(run, fencing_token, since_s);
  const auto missing = never_began(start, plan.ranks(), output);
  if (missing.empty()) {
    const auto but = words_of_traceback(run, since_s);
    return {.reason = but.empty() ? "" : "completed, but " + but};
  }
  return {.status = RunStatus::failed,
          .exit_code = exit_code::job_failed,
          .reason = words_of_unbegun(missing, "")};
}

Outcome stopped_outcome(int signal, const RunTotals& totals, int code) {
  // It may have completed just then.
  if (code == 0 && totals.end_status() == "completed") return {};
  return {.status = RunStatus::cancelled,
          .exit_code = 128 + signal,
          .reason = fmt::format("stopped by {}", signal_name(signal))};
}

}  // namespace

std::vector<std::string> prepared_command(const LaunchPlan& plan, const std::string& setup,
                                          const std::vector<std::string>& command) {
  if (plan.modules.empty() && plan.activate.empty() && setup.empty()) return command;
  std::vector<std::string> argv = {"bash",
                                   "-c",
                                   prepare_script,
                                   "dllaunch",
                                   plan.activate,
                                   setup,
                                   std::to_string(plan.modules.size())};
  argv.insert(argv.end(), plan.modules.begin(), plan.modules.end());
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

Result<Ok> check_local(const LaunchPlan& plan, System& system) {
  QueueReport report;
  add_as(QueueCheck::modules, report.findings,
         [&] { report.findings = check_modules(plan.modules, system); });
  if (!report.passed()) return as_error(report);
  const bool own_path =
      needs_preparation(plan) || std::ranges::any_of(plan.environment, [](const auto& variable) {
        return variable.first == "PATH";
      });
  if (own_path) return Ok{};  // PATH is known only after activation
  if (!system.find_program(plan.start.starter)) {
    return Error{ErrorKind::unavailable, fmt::format("{} is not installed", plan.start.starter),
                 "install it (apt-get install openmpi-bin), load it (module load openmpi), or set "
                 "runtime.transport: tcp, if the ranks do without MPI"};
  }
  const auto& program = plan.start.program;
  if (!program.empty() && !system.find_program(program[0])) {
    return Error{ErrorKind::bad_request, fmt::format("cannot run {}: no such program", program[0]),
                 "check `run:` in the job file, or its path"};
  }
  return Ok{};
}

Result<Outcome> execute_local(const LaunchPlan& plan, const RunDir& run, Follower& follower,
                              System& system) {
  std::optional<LocalStage> stage;
  if (plan.stage.wanted()) {
    stage.emplace(system);
    follower.log("staging to " + stage->folder());
    if (auto done = stage->fill(plan, system); !done) return std::move(done).error();
  }
  const auto argv = prepared_command(plan, plan.setup, start_of(plan, stage));
  const auto program = system.find_program(argv.at(0));
  if (!program) return Error{ErrorKind::unavailable, argv[0] + " is not installed", ""};
  const bool spawns = plan.start.kind() == Starter::spawn;
  std::optional<OpenMpiScratch> scratch;
  if (!spawns) scratch.emplace();
  const std::string output_path = run.out() + (spawns ? "/spawn.log" : "/mpirun.log");
  const auto output_before = size_of(output_path);

  forget_summary(run);
  auto environment = environment_of(plan, scratch, system);
  if (stage) environment.emplace_back("DLLAUNCH_STAGE", stage->folder());
  const auto ownership = take_run_ownership(run, system);
  if (!ownership) return ownership.error();
  std::erase_if(environment, [](const auto& one) { return one.first == fencing_token_variable; });
  environment.emplace_back(fencing_token_variable, std::to_string(ownership->fencing_token()));
  const StopSignals signals;
  adopt_orphans();
  const auto began = Clock::now();
  const double began_s = unix_seconds();
  auto starter = OwnedProcess::start(
      {.program = *program, .argv = argv, .environment = environment, .output_path = output_path});
  if (!starter) return std::move(starter).error();
  Stop stop(plan, follower, ownership->fencing_token());
  RaplMeter meter;
  const int code = wait_for_end(*starter, signals, stop, follower, meter);
  end_descendants(milliseconds(500), scratch ? scratch->removers() : std::set<pid_t>());
  follower.finish();

  const auto output = file_end(
      output_path, std::min<std::size_t>(most_starter_bytes, size_of(output_path) - output_before));
  Outcome outcome = signals.count() > 0 ? stopped_outcome(signals.first(), follower.totals(), code)
                                        : explain_local(code, run, {output_path, output}, began_s);
  if (code == 0 && signals.count() == 0)
    outcome = proven_by_ranks(plan, run, ownership->fencing_token(), began_s, output);
  // A full disk takes also the words of the ranks that it ends.
  const auto trouble = outcome.status == RunStatus::failed ? write_trial_file(run.path).what : "";
  if (!trouble.empty()) outcome.reason += fmt::format("; run directory {}: {}", run.path, trouble);
  add_who_left(run, began_s, outcome);
  add_stall(run, follower.totals(), outcome);
  if (const auto ours = ownership->check();
      !ours && ours.error().kind == ErrorKind::unsatisfiable) {
    outcome = {.status = RunStatus::failed,
               .exit_code = exit_code::do_not_requeue,
               .reason = ours.error().what,
               .taken_over = true};
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  outcome.cpu_joules = meter.joules();
  // What `setup:` started has the same parent.
  const auto peak = starter->peak_memory_bytes();
  if (!spawns && !needs_preparation(plan) && peak > 0) outcome.peak_process_bytes = peak;
  return outcome;
}

Outcome explain_local(int code, const RunDir& run, const StarterOutput& output, double since_s) {
  if (code == 0) return {};
  Outcome outcome{.status = RunStatus::failed, .exit_code = exit_code_of_job(code)};
  auto named = dead_rank_from_spawn(output.text);
  if (!named) named = dead_rank_from_mpirun(output.text);
  DeadRank dead = named.value_or(DeadRank{});
  if (!named && code > 128) dead.signal = code - 128;
  if (!named && code <= 128) dead.exit_code = code;
  if (dead.signal != 0) outcome.exit_code = exit_code::job_failed;
  if (dead.host.empty() && dead.rank >= 0) dead.host = host_of_rank(run, dead.rank);
  const bool error = add_failure_summary(run, dead, since_s, output, outcome);
  outcome.reason = describe(dead);
  // No rank is named and no log has an error: show the starter's output.
  if (!named && !error && !output.text.empty())
    outcome.reason = fmt::format("{} ended with code {}",
                                 std::filesystem::path(output.path).stem().string(), code);
  return outcome;
}

}  // namespace dllaunch
