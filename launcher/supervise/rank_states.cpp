#include "launcher/supervise/rank_states.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "launcher/base/shown_line.hpp"
#include "launcher/os/ancestors.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/overlap_step.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::seconds query_limit(10);

std::string rank_of(pid_t pid) {
  for (const char* name : {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
    if (auto rank = variable_of(pid, name)) return *std::move(rank);
  }
  return "?";
}

}  // namespace

std::string state_words(std::string_view stat, std::string_view wchan) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return "gone";
  const bool known = !wchan.empty() && wchan != "0";
  const auto where = known ? " in " + shown_line(wchan) : std::string();
  switch (stat[name_end + 2]) {
    case 'R':
      return "running";
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
    case 'X':
      return "dead";
    case 'D':
      return "blocked in the kernel" + where;
    default:
      return "asleep" + where;
  }
}

std::vector<pid_t> pids_of_run(const std::string& run_dir) {
  auto pids = pids_here();
  std::erase_if(pids, [&run_dir](pid_t pid) {
    return pid == getpid() || pid == getppid() || variable_of(pid, "DLLAUNCH_RUN_DIR") != run_dir;
  });
  return pids;
}

std::string rank_states_here(System& system, const std::string& run_dir) {
  std::vector<std::string> lines;
  for (const pid_t pid : pids_of_run(run_dir)) {
    const auto file = [&](const char* name) {
      auto text = system.read_file(fmt::format("/proc/{}/{}", pid, name));
      return text ? *std::move(text) : std::string();
    };
    const auto stat = file("stat");
    lines.push_back(fmt::format("rank {} on {}: {} ({}) is {}\n", rank_of(pid), system.host_name(),
                                shown_line(parse_stat(stat).name), pid,
                                state_words(stat, file("wchan"))));
  }
  std::ranges::sort(lines);
  std::string all;
  for (const auto& line : lines) all += line;
  return all;
}

std::string states_of_ranks(System& system, const RunDir& run, const JobAllocation& allocation) {
  if (allocation.job.empty()) return rank_states_here(system, run.path);
  const auto hosts = expand_hosts(allocation.nodes);
  const auto program = own_executable();
  if (!hosts || hosts->empty() || !program) return rank_states_here(system, run.path);
  const auto argv = argv_of(
      {.group = allocation.group, .nodes = allocation.nodes, .count = hosts->size(), .light = true},
      {*program, "supervise", "--states", "--run-dir", run.path});
  const auto output = system.run(argv, query_limit);
  if (!output) return fmt::format("dllaunch: what the ranks do: {}\n", output.error().what);
  return output->out;
}

}  // namespace dllaunch
