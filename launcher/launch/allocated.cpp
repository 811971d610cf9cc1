#include "launcher/launch/allocated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/network/slurm_network.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/owned_process.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "support/counted.hpp"
#include "support/parse_number.hpp"
#include "topology/network/network_order.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Slurm's own programs and Open MPI's take the allocation's nodes from these.
std::vector<std::pair<std::string, std::string>> variables_of(const LaunchPlan& plan,
                                                              const JobAllocation& allocation,
                                                              std::size_t nodes) {
  const auto count = std::to_string(nodes);
  return {{"SLURM_JOB_NODELIST", allocation.nodes},
          {"SLURM_NODELIST", allocation.nodes},
          {"SLURM_JOB_NUM_NODES", count},
          {"SLURM_NNODES", count},
          {"SLURM_TASKS_PER_NODE", fmt::format("{}(x{})", plan.ranks_per_node, nodes)},
          {"DLLAUNCH_RUN_DIR", plan.paths.run_dir}};
}

/// The job's number, and from the second start of the run in the allocation on, how many there
/// were.
std::string start_name(const std::string& job, const Journal& journal) {
  std::set<std::string> starts;
  for (const auto& attempt : journal.history)
    if (attempt.job == job || attempt.job.starts_with(job + " start ")) starts.insert(attempt.job);
  return starts.empty() ? job : fmt::format("{} start {}", job, starts.size() + 1);
}

/// Asks the supervisor to let the ranks save, then ends it and all that it started.
class ScriptStop {
 public:
  ScriptStop(const LaunchPlan& plan, Follower& follower) : plan_(plan), follower_(follower) {}

  void look(const StopSignals& signals, const OwnedProcess& script) {
    const auto now = Clock::now();
    if (signals.count() > seen_) {
      seen_ = signals.count();
      script.send(SIGTERM);
      const bool again = kill_at_ != Clock::time_point::max();
      if (!again)
        follower_.say(
            fmt::format("dllaunch: asked the ranks to save and stop (up to {} s); press Ctrl-C "
                        "again to end them now",
                        plan_.grace_seconds));
      kill_at_ = now + time_to_end + std::chrono::seconds(again ? 0 : plan_.grace_seconds);
    }
    if (now >= kill_at_) kill(-script.pid(), SIGKILL);
  }

 private:
  /// srun waits for tasks that do not end.
  static constexpr auto time_to_end = 30s;

  const LaunchPlan& plan_;
  Follower& follower_;
  int seen_ = 0;
  Clock::time_point kill_at_ = Clock::time_point::max();
};

int cpus_of_a_node(const LaunchPlan& plan) {
  int each = 1;
  for (const auto& [option, value] : plan.sbatch)
    if (option == "--cpus-per-task") each = parse_number<int>(value).value_or(1);
  return each * plan.ranks_per_node;
}

}  // namespace

Result<JobAllocation> allocation_here(System& system, const std::string& nodes, NodeNumbering order,
                                      const Json& network) {
  auto allocation = read_allocation(system);
  if (allocation.job.empty())
    return Error{ErrorKind::bad_request, "there is no Slurm allocation around this process",
                 "start it in salloc or in a job script, or leave out --allocated"};
  if (nodes.empty()) {
    const auto hosts = expand_hosts(allocation.nodes);
    const bool several = hosts && hosts->size() > 1 && order == NodeNumbering::automatic;
    if (several)
      allocation.nodes =
          compress_hosts(network_order(job_network(system, network), *hosts, {hosts->front()}));
    return allocation;
  }
  auto wanted = expand_hosts(nodes);
  if (!wanted) return std::move(wanted).error().within("--nodelist");
  auto all = expand_hosts(allocation.nodes);
  if (!all) return std::move(all).error().within("SLURM_JOB_NODELIST");
  for (const auto& host : *wanted)
    if (std::ranges::find(*all, host) == all->end())
      return Error{ErrorKind::bad_request,
                   fmt::format("--nodelist: {} is not in the allocation, which has {}", host,
                               allocation.nodes),
                   ""};
  if (std::set<std::string>(wanted->begin(), wanted->end()).size() < wanted->size())
    return Error{ErrorKind::bad_request, "--nodelist names a node twice", ""};
  allocation.nodes = compress_hosts(*wanted);
  return allocation;
}

Result<Ok> fit_into(JobAllocation& allocation, LaunchPlan& plan) {
  if (plan.array)
    return Error{ErrorKind::bad_request, "a job array does not fit into an allocation",
                 "leave out --allocated, or `array:` in the job file"};
  auto hosts = expand_hosts(allocation.nodes);
  if (!hosts) return std::move(hosts).error().within("SLURM_JOB_NODELIST");
  const auto needed = static_cast<std::size_t>(plan.nodes);
  if (hosts->size() < needed)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("the allocation has {} ({}), and the job needs {}",
                             counted(std::ssize(*hosts), "node"), allocation.nodes, needed),
                 "--set resources.nodes=N, or a larger allocation"};
  const auto asked = cpus_of_a_node(plan);
  if (allocation.cpus_per_node && asked > *allocation.cpus_per_node)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("the job asks for {} of each node, and the allocation has {}",
                             counted(asked, "CPU"), *allocation.cpus_per_node),
                 "an allocation of whole nodes (salloc --exclusive), or resources: {exclusive: "
                 "false, cpus_per_rank: N}"};
  auto& recovery = plan.recovery;
  recovery.requeue_on = {.timeout = false, .preempted = false, .node_fail = false};
  if (std::exchange(recovery.hold_seconds, 0) > 0)
    plan.warnings.push_back(
        "recovery.hold_on_error has no effect with --allocated: the allocation stays anyway");
  recovery.spare_nodes =
      std::min(recovery.spare_nodes, static_cast<int>(hosts->size()) - plan.nodes);
  hosts->resize(needed + static_cast<std::size_t>(recovery.spare_nodes));
  allocation.nodes = compress_hosts(*hosts);
  // With spare nodes, or fewer, the supervisor chooses.
  if (plan.start.starts_by_srun() && recovery.spare_nodes == 0 && !recovery.elastic())
    plan.start.options.insert(plan.start.options.begin(), "--nodelist=" + allocation.nodes);
  plan.launcher = Launcher::local;
  plan.allocated = true;
  return Ok{};
}

Result<Outcome> execute_allocated(const LaunchPlan& plan, const RunDir& run,
                                  const JobAllocation& allocation, Follower& follower,
                                  System& system) {
  const auto hosts = expand_hosts(allocation.nodes);
  if (!hosts) return hosts.error();
  const auto& files = plan.paths.files;
  const auto path = files.empty() ? run.sbatch_script() : RunDir{.path = files}.sbatch_script();
  if (auto written = write_file(path, render_sbatch(plan, run.id)); !written)
    return std::move(written).error();
  const auto bash = system.find_program("bash");
  if (!bash) return Error{ErrorKind::unavailable, "bash is not installed", ""};
  forget_summary(run);
  const StopSignals signals;
  adopt_orphans();
  const auto began = Clock::now();
  // The script's end says of the run what a job's end does.
  SlurmJob ended;
  ended.id = start_name(allocation.job, read_journal(run));
  ended.restarts = allocation.restarts;
  ended.nodes = allocation.nodes;
  ended.start = slurm_time(unix_seconds());
  ended.output = fmt::format("{}/slurm-{}.out", run.path, allocation.job);
  auto variables = variables_of(plan, allocation, hosts->size());
  variables.emplace_back(start_name_variable, ended.id);
  auto script = OwnedProcess::start({.program = *bash,
                                     .argv = {"bash", path},
                                     .environment = std::move(variables),
                                     .output_path = ended.output});
  if (!script) return std::move(script).error();
  ScriptStop stop(plan, follower);
  std::optional<int> code;
  while (!(code = script->poll())) {
    stop.look(signals, *script);
    follower.poll();
    signals.wait(100ms);
  }
  end_descendants(500ms);
  follower.finish();
  ended.state = *code == 0 ? "COMPLETED" : "FAILED";
  ended.exit_code = *code;
  ended.end = slurm_time(unix_seconds());
  auto outcome = explain_jobs(plan, run, ended.id, {ended}, follower.totals());
  if (signals.count() > 0 && outcome.status != RunStatus::completed)
    outcome = {.status = RunStatus::cancelled,
               .exit_code = 128 + signals.first(),
               .reason = fmt::format("stopped by {}", signal_name(signals.first()))};
  outcome.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return outcome;
}

}  // namespace dllaunch
