#include "launcher/supervise/autopsy_step.hpp"

#include <utility>

#include <fmt/core.h>

#include "launcher/autopsy/stored_stacks.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/own_executable.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds patience(10);
constexpr int most = 10;  // of one attempt

}  // namespace

std::vector<std::string> autopsy_argv(const SupervisedRun& run, const std::string& why,
                                      KeepStacks which, const std::string& dllaunch) {
  // Processes with the variable count as ranks, and are ended with them.
  std::vector<std::string> argv = {"env",    "-u", "DLLAUNCH_RUN_DIR", dllaunch, "stacks",
                                   "--keep", why};
  if (which == KeepStacks::of_standstill) argv.emplace_back("--standstill");
  const auto& allocation = run.allocation;
  if (!allocation.job.empty()) {
    argv.insert(argv.end(), {"--job", allocation.job, "--hosts", allocation.nodes});
    if (!allocation.group.empty()) argv.insert(argv.end(), {"--group", allocation.group});
  }
  argv.push_back(run.dir.path);
  return argv;
}

void AutopsyStep::begin(const std::string& why, KeepStacks which, Time now) {
  if (process_ || count_ == most || !run_.recovery.plan.autopsy) return;
  const auto dllaunch = own_executable();
  const auto env = system_.find_program("env");
  if (!dllaunch || !env) return;
  auto process = OwnedProcess::start({.program = *env,
                                      .argv = autopsy_argv(run_, why, which, *dllaunch),
                                      .environment = {},
                                      .output_path = "/dev/null"});
  if (!process) return;
  process_.emplace(*std::move(process));
  began_at_ = now;
  began_at_s_ = unix_seconds();
  ++count_;
}

bool AutopsyStep::runs(Time now) {
  if (!process_) return false;
  if (!process_->poll()) {
    if (now - began_at_ < patience) return true;
    process_.reset();  // kills it
    system_.log("dllaunch: the stacks of the ranks could not be read within 10 s\n");
    return false;
  }
  process_.reset();
  say_result();
  return false;
}

void AutopsyStep::say_result() const {
  const auto stored = newest_stacks(run_.dir.path);
  if (!stored || stored->time_s < began_at_s_ - 1) return;
  system_.log(fmt::format("dllaunch: {}{}autopsy/{}.txt has the stacks of all ranks\n",
                          stored->sentence, stored->sentence.empty() ? "" : "; ", stored->name));
}

}  // namespace dllaunch
