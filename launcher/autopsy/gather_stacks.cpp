#include "launcher/autopsy/gather_stacks.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "launcher/doctor/observe.hpp"
#include "launcher/os/descendants.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "launcher/slurm/overlap_step.hpp"
#include "support/isolated_call.hpp"

namespace dllaunch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds time_of_node(3000);
constexpr milliseconds reserve_of_node(1000);  // for processes that hold the reader up
constexpr int all_frames = 200'000;            // of all nodes: about 20 MB as text
constexpr int fewest_frames = 300;             // of a node

int frames_of_node(std::size_t nodes) {
  return std::max(fewest_frames, all_frames / static_cast<int>(std::max<std::size_t>(nodes, 1)));
}

std::string name_of_node(System& system) {
  return system.environment("SLURMD_NODENAME").value_or(system.host_name());
}

int frames_in(const NodeStacks& node) {
  std::size_t count = 0;
  for (const ProcessStacks& process : node.processes) {
    for (const ThreadStack& thread : process.threads) count += thread.frames.size();
    for (const Stack& stack : process.python) count += stack.size();
  }
  return static_cast<int>(count);
}

/// In a child process: reading /proc of a process that is stuck in the kernel may block.
Result<Json> node_document(System& system, const std::string& run_dir, int most_frames) {
  const auto text =
      isolated_calls({{.work = [&]() -> Result<std::string> {
                         return write_fields(stacks_here(system, run_dir, most_frames))
                             .dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
                       },
                       .deadline = time_of_node + reserve_of_node,
                       .bounded_memory = false}});
  if (!text.front()) return text.front().error();
  return Json::parse(*text.front(), nullptr, /*allow_exceptions=*/false);
}

Result<Survey> ask_nodes(System& system, const RunningRanks& run) {
  const auto program = own_executable();
  if (!program) return program.error();
  const auto nodes = run.hosts.size();
  return survey_nodes(system, run.hosts,
                      {.job = run.job,
                       .group = run.group,
                       .count = nodes,
                       .name = "dllaunch-stacks",
                       .light = true,
                       .limit = limit_of_gathering(nodes),
                       .grace = seconds(1)},
                      {*program, "stacks", "--node", run.run_dir, "--most-frames",
                       std::to_string(frames_of_node(nodes))},
                      seconds(3));
}

}  // namespace

std::chrono::seconds limit_of_gathering(std::size_t nodes) {
  return seconds(6 + nodes / 50);
}

Result<StackReport> gather_stacks(System& system, const RunningRanks& run) {
  Survey survey;
  if (run.job.empty()) {
    survey.answers.emplace_back(name_of_node(system),
                                node_document(system, run.run_dir, frames_of_node(1)));
  } else {
    auto asked = ask_nodes(system, run);
    if (!asked) return std::move(asked).error();
    survey = *std::move(asked);
  }
  std::vector<NodeStacks> nodes;
  std::vector<std::pair<std::string, std::string>> unanswered;
  for (const auto& [host, document] : survey.answers) {
    if (document && document->is_object()) {
      nodes.push_back(read_what_fits<NodeStacks>(*document));
    } else {
      unanswered.emplace_back(host, document ? "a damaged answer" : document.error().what);
    }
  }
  if (nodes.empty() && !unanswered.empty())
    return Error{ErrorKind::unavailable,
                 fmt::format("no node answered: {}: {}", unanswered.front().first,
                             unanswered.front().second),
                 "dllaunch must have the same path on all nodes"};
  StackReport report = merge_stacks(std::move(nodes));
  report.unanswered = std::move(unanswered);
  return report;
}

NodeStacks stacks_here(System& system, const std::string& run_dir, int most_frames) {
  auto processes = observe_job_processes("");
  std::erase_if(processes, [&](const JobProcess& process) {
    return process.pid != getpid() && variable_of(process.pid, "DLLAUNCH_RUN_DIR") != run_dir;
  });
  NodeStacks node =
      observe_stacks(system, rank_programs(std::move(processes), getpid()), time_of_node);
  node.host = name_of_node(system);
  for (ProcessStacks& process : node.processes) process.host = node.host;
  bound_frames(node, most_frames);
  return node;
}

std::vector<RankProgram> rank_programs(std::vector<JobProcess> processes, int own) {
  const auto self = std::ranges::find(processes, own, &JobProcess::pid);
  const std::string own_job = self == processes.end() ? "" : self->job;
  std::erase_if(processes, [&](const JobProcess& process) {
    return process.pid == own || (!own_job.empty() && process.job == own_job);
  });
  std::vector<RankProcess> chosen;
  bool chose_torchrun = false;
  for (const std::string& job : jobs_among(processes)) {
    const bool is_torchrun = job.starts_with("torchrun");
    auto ranks = ranks_of_job(processes, job);
    const bool better = is_torchrun == chose_torchrun ? ranks.size() > chosen.size() : is_torchrun;
    if (!better) continue;
    chosen = std::move(ranks);
    chose_torchrun = is_torchrun;
  }
  std::vector<RankProgram> programs;
  for (const RankProcess& each : chosen) {
    programs.push_back({.rank = each.rank.rank, .pid = each.pid});
  }
  return programs;
}

void bound_frames(NodeStacks& node, int most) {
  int count = frames_in(node);
  const auto drop = [&](Stack& frames, std::string* why) {
    if (count <= most || frames.empty()) return;
    count -= static_cast<int>(frames.size());
    frames.clear();
    if (why != nullptr) *why = "left out: the node has too many frames";
  };
  for (const bool descendants : {false, true}) {
    for (ProcessStacks& process : node.processes) {
      if (descendants && process.parent == 0) continue;
      for (std::size_t i = descendants ? 0 : 1; i < process.threads.size(); ++i) {
        drop(process.threads[i].frames, &process.threads[i].why_not);
      }
      for (std::size_t i = descendants ? 0 : 1; i < process.python.size(); ++i) {
        drop(process.python[i], nullptr);
      }
      std::erase(process.python, Stack());
    }
  }
}

}  // namespace dllaunch
