#include "launcher/supervise/watchdog_step.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/overlap_step.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause(10'000);
constexpr milliseconds longest_pause(300'000);

std::string log_of(const RunDir& run) {
  return run.path + "/watcher.log";
}

}  // namespace

std::string node_to_watch_from(const std::vector<std::string>& nodes, const std::string& host) {
  const auto found =
      std::find_if(nodes.rbegin(), nodes.rend(), [&](const auto& node) { return node != host; });
  return found == nodes.rend() ? "" : *found;
}

std::vector<std::string> watchdog_argv(const SupervisedRun& run, const std::string& node,
                                       const std::string& dllaunch) {
  auto argv = argv_of(
      {.job = run.allocation.job, .nodes = node, .name = "dllaunch-watch", .light = true},
      {dllaunch, "supervise", "--watch-script", run.allocation.host, "--run-dir", run.dir.path});
  // Processes with the variable count as ranks, and are ended with them.
  argv.insert(argv.begin() + 1, {"-u", "DLLAUNCH_RUN_DIR"});
  return argv;
}

WatchdogStep::WatchdogStep(System& system, const SupervisedRun& run) : system_(system), run_(run) {}

WatchdogStep::~WatchdogStep() {
  if (!step_ || step_->poll()) return;
  step_->send(SIGTERM);
  constexpr int looks = 150;
  for (int i = 0; i < looks && !step_->poll(); ++i) std::this_thread::sleep_for(milliseconds(20));
}

void WatchdogStep::keep(Time now) {
  const bool wanted = (run_.recovery.plan.spare_nodes > 0 || run_.recovery.plan.elastic()) &&
                      !run_.allocation.host.empty();
  if (!wanted || now < next_start_) return;
  if (step_) {
    const auto code = step_->poll();
    if (!code) return;
    step_.reset();
    log_once(fmt::format("the job's watcher exited with code {} (watcher.log); another one starts",
                         *code));
  }
  start();
  pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
  next_start_ = now + pause_;
}

void WatchdogStep::start() {
  // This call delays signals and timers.
  const auto left = nodes_left(system_, run_.allocation, std::chrono::seconds(2));
  const auto program = own_executable();
  const auto env = system_.find_program("env");
  if (!left || !program || !env) return;
  const auto node = node_to_watch_from(left->there, run_.allocation.host);
  if (node.empty()) return;
  auto step = OwnedProcess::start({.program = *env,
                                   .argv = watchdog_argv(run_, node, *program),
                                   .environment = {},
                                   .output_path = log_of(run_.dir)});
  if (step)
    step_.emplace(*std::move(step));
  else
    log_once(step.error().what);
}

void WatchdogStep::log_once(const std::string& message) {
  if (!std::exchange(said_, true)) system_.log(fmt::format("dllaunch: {}\n", message));
}

}  // namespace dllaunch
