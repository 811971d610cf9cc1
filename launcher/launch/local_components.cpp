#include "launcher/launch/local_components.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/components/component_end.hpp"
#include "launcher/components/component_group.hpp"
#include "launcher/components/component_variables.hpp"
#include "launcher/launch/child_run.hpp"
#include "launcher/launch/local.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/run/failure.hpp"
#include "topology/render/placement_env.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ChildRun child_of(const Paths& paths, const std::string& name, const Topology& machine,
                  const MachineShare& share, const std::vector<ComponentPlace>& places) {
  const auto dir = component_dir(paths.run_dir, name);
  ChildRun child{.job_file = dir + ".yaml", .dir = dir, .local = true, .cpus = share.cpus};
  if (!paths.files.empty()) child.job_file = component_dir(paths.files, name) + ".yaml";
  child.environment = component_variables(places, name);
  const auto devices = device_variables(machine, {.gpus = share.gpus});
  child.environment.insert(child.environment.end(), devices.begin(), devices.end());
  // Without one, it would see those of others.
  if (share.gpus.empty() && !machine.gpus.empty())
    for (const char* variable : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
      child.environment.emplace_back(variable, "");
  return child;
}

}  // namespace

Result<Outcome> execute_components(const ModularPlan& plan, const SharedMachine& machine,
                                   const RunDir& run, Follower& follower, System& system) {
  forget_summary(run);
  const auto places = places_here(plan.whole, fmt::format("{}/{}", getpid(), unix_seconds()));
  std::vector<ComponentGroup::Start> starts;
  for (std::size_t i = 0; i < plan.components.size(); ++i)
    starts.push_back([&, i] {
      return start_child_run(child_of(plan.whole.paths, plan.components[i].name, machine.node,
                                      machine.shares[i], places));
    });
  const StopSignals signals;
  const auto began = std::chrono::steady_clock::now();
  constexpr seconds to_end(30);
  ComponentGroup group(plan.whole.components, seconds(plan.whole.grace_seconds), to_end);
  if (auto started = group.start(starts); !started) return std::move(started).error();
  for (int seen = 0; !group.over(); signals.wait(milliseconds(50))) {
    group.look(ComponentGroup::Clock::now());
    for (; seen < signals.count(); ++seen) group.send(SIGTERM);
    follower.poll();
  }
  follower.finish();
  const auto end = end_of_components(system, plan.whole, group.codes(), group.decided(), {});
  Outcome outcome{.status = end.status, .exit_code = end.exit_code};
  if (end.status != RunStatus::completed)
    outcome.reason = end.reason;
  else if (!end.beside.empty())
    outcome.reason = fmt::format("the job has completed, but {}", end.beside);
  if (signals.count() > 0 && end.status != RunStatus::completed)
    outcome = {.status = RunStatus::cancelled,
               .exit_code = 128 + signals.first(),
               .reason = fmt::format("stopped by {}", signal_name(signals.first()))};
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return outcome;
}

Result<Ok> check_local_components(const ModularPlan& plan, System& system) {
  for (const auto& component : plan.components) {
    auto good = check_local(component.plan, system);
    if (!good) return std::move(good).error().within("component " + component.name);
  }
  return Ok{};
}

}  // namespace dllaunch
