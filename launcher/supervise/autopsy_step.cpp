#include "launcher/supervise/autopsy_step.hpp"

#include <unistd.h>

#include <utility>

#include <fmt/core.h>

#include "launcher/autopsy/gather_stacks.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

constexpr int most = 10;  // of one attempt
constexpr int most_before_the_end = most - 2;

int most_of(StacksKind kind) {
  const bool ends = kind == StacksKind::hang || kind == StacksKind::time_limit;
  return ends ? most : most_before_the_end;
}

}  // namespace

std::vector<std::string> autopsy_argv(const SupervisedRun& run, StacksKind kind,
                                      const std::string& why, const std::string& dllaunch) {
  const std::string name(stacks_kind_names[static_cast<std::size_t>(kind)]);
  // Processes with the variable count as ranks, and are ended with them.
  std::vector<std::string> argv = {
      "env", "-u", "DLLAUNCH_RUN_DIR", dllaunch, "stacks", "--keep", name, "--why", why};
  const auto& allocation = run.allocation;
  if (!allocation.job.empty()) {
    argv.insert(argv.end(), {"--job", allocation.job, "--hosts", allocation.nodes});
    if (!allocation.group.empty()) argv.insert(argv.end(), {"--group", allocation.group});
  }
  argv.push_back(run.dir.path);
  return argv;
}

/// gather_stacks() has limits of its own, which may not hold for a node that is ill.
std::chrono::seconds AutopsyStep::longest() const {
  const auto hosts = expand_hosts(run_.allocation.nodes);
  return limit_of_gathering(hosts ? hosts->size() : 1) + std::chrono::seconds(4);
}

void AutopsyStep::begin(StacksKind kind, const std::string& why, Time now) {
  if (process_ || count_ >= most_of(kind) || !run_.recovery.plan.autopsy) return;
  const auto dllaunch = own_executable();
  const auto env = system_.find_program("env");
  if (!dllaunch || !env) return;
  auto process = OwnedProcess::start({.program = *env,
                                      .argv = autopsy_argv(run_, kind, why, *dllaunch),
                                      .environment = {},
                                      .error_fd = STDERR_FILENO});
  if (!process) return;
  process_.emplace(*std::move(process));
  give_up_at_ = now + longest();
  began_at_s_ = unix_seconds();
  ++count_;
}

bool AutopsyStep::runs(Time now) {
  if (!process_) return false;
  const auto code = process_->poll();
  if (!code && now < give_up_at_) return true;
  process_.reset();  // kills it, if it still runs
  if (code && *code == 0) {
    say_result();
  } else {
    system_.log(fmt::format("dllaunch: the stacks of the ranks could not be read: {}\n",
                            code ? fmt::format("exit code {}", *code) : "no answer in time"));
  }
  return false;
}

void AutopsyStep::say_result() const {
  const auto stored = newest_stacks(run_.dir.path);
  if (!stored || stored->time_s < began_at_s_ - 1) return;
  system_.log(fmt::format("dllaunch: {}{}autopsy/{}.txt has the stacks of all ranks\n",
                          stored->sentence, stored->sentence.empty() ? "" : "; ", stored->name));
}

}  // namespace dllaunch
