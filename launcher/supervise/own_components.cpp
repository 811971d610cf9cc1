#include "launcher/supervise/own_components.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/components/component_end.hpp"
#include "launcher/components/component_group.hpp"
#include "launcher/components/component_variables.hpp"
#include "launcher/network/slurm_network.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/requeue.hpp"
#include "launcher/supervise/node_order.hpp"
#include "launcher/supervise/signals.hpp"
#include "launcher/supervise/storage.hpp"
#include "launcher/supervise/supervised_run.hpp"

namespace dllaunch {
namespace {

using std::chrono::seconds;

/// The jobs of the components in this start.
std::vector<std::string> jobs_of_components(System& system, std::size_t count) {
  std::vector<std::string> jobs;
  for (std::size_t i = 0; i < count; ++i)
    jobs.push_back(system.environment(fmt::format("SLURM_JOB_ID_HET_GROUP_{}", i)).value_or(""));
  return jobs;
}

/// In the order in which each component's supervisor will number them.
void order_hosts(System& system, const RunOutline& whole, std::vector<ComponentPlace>& places) {
  if (std::ranges::none_of(whole.components, &ComponentOutline::along_network)) return;
  const auto network = job_network(system, whole.network);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& component = whole.components[i];
    if (!component.along_network) continue;
    const auto& suffix = component.host_suffix;
    auto nodes = places[i].hosts;
    for (auto& node : nodes) node.resize(node.size() - suffix.size());
    auto order = expand_hosts(number_along(network, nodes, {}).order);
    if (!order || order->size() != nodes.size()) continue;  // not known
    for (auto& node : *order) node += suffix;
    places[i].hosts = *std::move(order);
  }
}

/// The first writes into the script's own output, as Slurm's record of its job says.
/// `scripts`: the folder of the component's script.
ProcessRequest request_for(const std::string& bash, const std::string& scripts,
                           const std::string& dir, std::size_t number, const std::string& job,
                           std::vector<std::pair<std::string, std::string>> variables) {
  ProcessRequest request{.program = bash,
                         .argv = {"bash", scripts + "/component.sh"},
                         .environment = std::move(variables),
                         .error_fd = STDERR_FILENO};
  if (number > 0) request.output_path = fmt::format("{}/slurm-{}.out", dir, job);
  return request;
}

/// Where others can replace the run's directory, its component's script is not taken from there.
Result<Ok> check_script(const std::string& files, const std::string& component) {
  if (files.empty()) return Ok{};
  const auto script = component_dir(files, component) + "/component.sh";
  if (access(script.c_str(), R_OK) == 0) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("{}: {}: others can replace the run's directory, and its components' "
                           "scripts are not executed from there",
                           script, std::strerror(errno)),
               "XDG_STATE_HOME=FOLDER dllaunch run, with a folder that only you can write and that "
               "the nodes have; or --run-dir in such a folder"};
}

void write_end(System& system, const StoredRun& run, const JobAllocation& allocation,
               const ComponentsEnd& end, bool wanted_requeue = false) {
  const JournalDecision decision{.time = unix_seconds(),
                                 .job = allocation.job,
                                 .allocation = allocation.restarts,
                                 .next = end.next,
                                 .reason = end.reason,
                                 .status = end.status,
                                 .exit_code = end.exit_code,
                                 .wanted_requeue = wanted_requeue,
                                 .exclude = end.exclude,
                                 .beside = end.beside};
  const RunStorage storage(run.dir);
  const auto line = line_of(decision, std::nullopt);
  if (auto done = storage.write([&] { return append_to_journal(run.dir, line); }); !done)
    system.log("dllaunch: " + done.error().what + "\n");
  if (end.status != RunStatus::completed)
    system.log(fmt::format("dllaunch: {}: {}\n", to_string(end.next), end.reason));
}

bool means_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

/// Each component has the signal that its own ranks know. One without it is not warned: it does not
/// save, so nothing waits for it.
void pass_on(int signal, int warning, ComponentGroup& group) {
  if (signal != warning) return group.send(signal);
  const int otherwise = means_stop(signal) ? signal : 0;
  group.send([otherwise](const ComponentOutline& one) {
    const int own = signal_of_name(one.signal);
    return own > 0 ? own : otherwise;
  });
}

/// The component's own, as its supervisor knows it.
JobAllocation of_component(System& system, JobAllocation leader, const std::string& job,
                           std::size_t number) {
  leader.leader = std::exchange(leader.job, job);
  leader.group = std::to_string(number);
  leader.nodes =
      system.environment(fmt::format("SLURM_JOB_NODELIST_HET_GROUP_{}", number)).value_or("");
  return leader;
}

/// After all components have ended, or their time to save is over: it ends the whole job.
Result<Ok> requeue_whole(System& system, const JobAllocation& allocation, Exclusion exclude,
                         const SupervisorSignals& signals, int warning) {
  const auto stopped = [&](std::chrono::milliseconds pause) {
    pollfd source{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    ::poll(&source, 1, static_cast<int>(pause.count()));
    return std::ranges::any_of(signals.take(), [warning](int one) { return one != warning; });
  };
  const auto left = [&]() -> std::optional<double> {
    if (!allocation.end_s) return std::nullopt;
    return *allocation.end_s - unix_seconds();
  };
  return requeue(system, allocation,
                 {.exclude = std::move(exclude), .seconds_left = left, .stopped = stopped});
}

}  // namespace

Result<int> own_components(System& system, const std::string& run_dir, const std::string& files) {
  auto run = read_stored_run(system, std::filesystem::absolute(run_dir).lexically_normal());
  if (!run) return std::move(run).error();
  if (!files.empty()) take_plan_from(files, *run, system);
  const auto& components = run->plan.components;
  if (components.empty())
    return Error{ErrorKind::bad_request, run->dir.path + " holds no run with components", ""};
  auto places = places_in_job(system, run->plan);
  if (!places) return std::move(places).error();
  order_hosts(system, run->plan, *places);
  const auto bash = system.find_program("bash");
  if (!bash) return Error{ErrorKind::unavailable, "bash is not installed on this node", ""};
  // Of the script's own job: the first component's.
  const auto allocation = read_allocation(system);
  const auto jobs = jobs_of_components(system, components.size());
  const auto& scripts = files.empty() ? run->dir.path : files;
  for (const auto& one : components)
    if (auto there = check_script(files, one.name); !there) return std::move(there).error();
  std::vector<ComponentGroup::Start> starts;
  for (std::size_t i = 0; i < components.size(); ++i)
    starts.push_back([&, i] {
      return OwnedProcess::start(request_for(*bash, component_dir(scripts, components[i].name),
                                             component_dir(run->dir.path, components[i].name), i,
                                             jobs[i],
                                             component_variables(*places, components[i].name)));
    });
  const int warning = signal_of_name(run->plan.signal);
  const SupervisorSignals signals(warning);
  adopt_orphans();
  constexpr seconds to_end(60);  // their supervisors end their ranks themselves
  ComponentGroup group(components, seconds(run->plan.grace_seconds), to_end);
  if (auto started = group.start(starts); !started) return std::move(started).error();
  bool told = false;
  while (true) {
    group.look(ComponentGroup::Clock::now());
    if (group.over()) break;
    pollfd source{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    poll_awake(&source, 1, /*timeout_ms=*/500);
    for (const int signal : signals.take()) {
      told = told || (signal != warning && means_stop(signal) && !group.decided());
      pass_on(signal, warning, group);
    }
  }
  auto end = end_of_components(system, run->plan, group.codes(), group.decided(), jobs);
  if (told && end.status == RunStatus::cancelled) end.reason = "cancelled by the user";
  write_end(system, *run, allocation, end);
  end_descendants(std::chrono::milliseconds(500));
  if (end.next == Next::requeue && end.ask_slurm) {
    const auto which = *group.decided();
    const auto own = of_component(system, allocation, jobs[which], which);
    const auto component =
        read_stored_run(system, component_dir(run->dir.path, components[which].name));
    auto exclude = component ? exclusion_of(*component, own.job, end.exclude)
                             : Exclusion{.fresh = end.exclude};
    if (auto done = requeue_whole(system, own, std::move(exclude), signals, warning); !done) {
      end.next = Next::stop;
      end.reason += "; not requeued: " + done.error().what;
      write_end(system, *run, allocation, end, /*wanted_requeue=*/true);
    }
  }
  return end.exit_code;
}

}  // namespace dllaunch
