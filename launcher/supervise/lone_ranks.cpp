#include "launcher/supervise/lone_ranks.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "launcher/os/descendants.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/overlap_step.hpp"
#include "launcher/supervise/rank_states.hpp"
#include "runtime/rank/run_ownership.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds query_limit(2);  // per query; signals and timers wait for it
constexpr std::chrono::seconds step_limit(20);

}  // namespace

bool saves_checkpoint(const std::string& run_dir, std::int64_t fencing_token) {
  const auto being_written = fmt::format(".tmp-{}-", fencing_token);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir + "/checkpoints", error))
    if (entry.path().filename().string().starts_with(being_written)) return true;
  return false;
}

std::chrono::milliseconds patience_with_survivors(const RankGone& gone) {
  using std::chrono::milliseconds;
  constexpr milliseconds last_words(500);
  // srun may name a rank that missed a killed one first.
  constexpr milliseconds name_of_the_cause(1000);
  constexpr milliseconds reports_and_checkpoints(3000);
  constexpr milliseconds cause_of_an_echo(5000);
  if (gone.killed && !gone.saves) return last_words;
  if (gone.echo) return cause_of_an_echo;
  return gone.saves || gone.stalled ? reports_and_checkpoints : name_of_the_cause;
}

void kill_ranks_of_start(const std::string& run_dir, std::int64_t fencing_token, int signal) {
  const auto start = std::to_string(fencing_token);
  for (const pid_t pid : pids_of_run(run_dir))
    if (variable_of(pid, fencing_token_variable) == start) kill(pid, signal);
}

std::vector<std::string> killing_argv(const SupervisedRun& run,
                                      const std::vector<std::string>& nodes,
                                      const std::string& dllaunch, std::int64_t fencing_token,
                                      int signal) {
  auto argv = argv_of({.group = run.allocation.group,
                       .nodes = compress_hosts(nodes),
                       .count = nodes.size(),
                       .name = "dllaunch-kill",
                       .light = true,
                       .limit = step_limit,
                       .grace = std::chrono::seconds(1)},
                      {dllaunch, "supervise", "--kill-ranks", std::to_string(fencing_token),
                       "--signal", std::to_string(signal), "--run-dir", run.dir.path});
  // Processes with the variable count as ranks.
  argv.insert(argv.begin() + 1, {"-u", "DLLAUNCH_RUN_DIR"});
  return argv;
}

std::optional<OwnedProcess> kill_ranks_elsewhere(System& system, const SupervisedRun& run,
                                                 std::int64_t fencing_token, int signal) {
  if (!run.start.starts_by_srun()) return std::nullopt;
  auto left = nodes_left(system, run.allocation, query_limit);
  const auto program = own_executable();
  const auto env = system.find_program("env");
  if (!left || !program || !env) return std::nullopt;
  std::erase(left->there, run.allocation.host);
  if (left->there.empty()) return std::nullopt;
  auto step =
      OwnedProcess::start({.program = *env,
                           .argv = killing_argv(run, left->there, *program, fencing_token, signal),
                           .environment = {},
                           .output_path = "/dev/null"});
  if (!step) return std::nullopt;
  return *std::move(step);
}

}  // namespace dllaunch
