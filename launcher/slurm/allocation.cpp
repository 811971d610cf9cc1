#include "launcher/slurm/allocation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "launcher/slurm/client.hpp"
#include "launcher/slurm/host_list.hpp"
#include "launcher/slurm/node_survey.hpp"
#include "launcher/slurm/slurm_messages.hpp"
#include "support/counted.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

std::optional<std::int64_t> number_in(const std::optional<std::string>& text) {
  const auto number = parse_number<std::int64_t>(text.value_or(""));
  return number && *number >= 0 ? number : std::nullopt;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Whether the job was requeued. A requeue ends the job's processes, possibly including scontrol
/// before it gets its answer.
bool is_back(System& system, const JobAllocation& allocation) {
  constexpr int tries = 8;
  for (int i = 0; i < tries; ++i) {
    const auto record = ask_of_job(system, allocation, std::chrono::seconds(5));
    if (record && record->restarts != allocation.restarts) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
  return false;
}

/// Why the job must not be requeued yet; empty: it may be.
std::string doubt_in(System& system, const std::string& nodes, const NodesInDoubt& doubt) {
  const auto states = nodes_of_controller(system, nodes);
  if (!states) return "Slurm's controller does not answer";
  for (const auto& node : *states) {
    const bool silent = std::ranges::find(doubt.silent, node.name) != doubt.silent.end();
    if (is_in_doubt(node.state) || (silent && !is_gone(node.state)))
      return fmt::format("node {} does not answer, and Slurm has not marked it down yet",
                         node.name);
  }
  return "";
}

/// The least number of "36(x2),24"; nullopt: there is none.
std::optional<int> fewest_in(std::string_view counts) {
  std::optional<int> fewest;
  while (!counts.empty()) {
    const auto part = counts.substr(0, counts.find(','));
    counts.remove_prefix(std::min(counts.size(), part.size() + 1));
    const auto count = parse_number<int>(part.substr(0, part.find('(')));
    if (count && (!fewest || *count < *fewest)) fewest = count;
  }
  return fewest;
}

/// This component's number. A job that was submitted in a component inherits the variable.
std::optional<std::int64_t> own_group(System& system) {
  const auto leader = system.environment("SLURM_JOB_ID_HET_GROUP_0");
  if (leader && leader != system.environment("SLURM_JOB_ID")) return std::nullopt;
  return number_in(system.environment(het_group_variable));
}

/// Down, by Slurm's word, which is final.
bool is_down(const SlurmNode& node) {
  return is_gone(node.state) && !is_in_doubt(node.state);
}

/// Of the nodes that are not down, but for this one: this process runs.
std::optional<SilentNodes> others_silent(System& system, std::vector<SlurmNode> nodes,
                                         const JobAllocation& allocation,
                                         std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds most(2000);
  std::erase_if(
      nodes, [&](const SlurmNode& node) { return node.name == allocation.host || is_down(node); });
  if (nodes.empty()) return SilentNodes{};
  return silent_nodes(system, nodes, std::min(limit, most));
}

/// A host list.
std::string hosts_without(const std::string& list, const std::string& others) {
  auto hosts = expand_hosts(list);
  const auto out = expand_hosts(others);
  if (!hosts || !out) return "";
  std::erase_if(
      *hosts, [&](const std::string& host) { return std::ranges::find(*out, host) != out->end(); });
  return compress_host_set(*std::move(hosts));
}

}  // namespace

std::string name_of(const JobAllocation& allocation) {
  return allocation.name.empty() ? allocation.job : allocation.name;
}

std::string own_job_id(System& system) {
  const auto job = system.environment("SLURM_JOB_ID").value_or("");
  const auto group = own_group(system);
  if (!group || job.empty()) return job;
  return system.environment(fmt::format("SLURM_JOB_ID_HET_GROUP_{}", *group)).value_or(job);
}

JobAllocation read_allocation(System& system) {
  JobAllocation allocation;
  allocation.job = own_job_id(system);
  if (allocation.job.empty()) return allocation;
  if (const auto group = own_group(system)) {
    allocation.group = std::to_string(*group);
    allocation.leader = system.environment("SLURM_JOB_ID").value_or("");
  }
  const auto array = number_in(system.environment("SLURM_ARRAY_JOB_ID"));
  const auto task = number_in(system.environment("SLURM_ARRAY_TASK_ID"));
  if (array && task) allocation.name = fmt::format("{}_{}", *array, *task);
  allocation.restarts =
      static_cast<int>(number_in(system.environment("SLURM_RESTART_COUNT")).value_or(0));
  allocation.nodes = system.environment("SLURM_JOB_NODELIST").value_or("");
  allocation.cpus_per_node = fewest_in(system.environment("SLURM_JOB_CPUS_PER_NODE").value_or(""));
  allocation.host = system.environment("SLURMD_NODENAME").value_or("");
  if (const auto end = number_in(system.environment("SLURM_JOB_END_TIME"))) {
    allocation.end_s = static_cast<double>(*end);
  } else if (const auto record = ask_of_job(system, allocation)) {
    allocation.end_s = end_of(*record);
  }
  return allocation;
}

std::optional<SlurmJob> ask_of_job(System& system, const JobAllocation& allocation,
                                   std::chrono::seconds limit) {
  for (auto& job : jobs_of_controller(system, name_of(allocation), limit).jobs) {
    if (job.id == allocation.job) return std::move(job);
  }
  return std::nullopt;
}

std::optional<double> end_of(const SlurmJob& job) {
  const auto end = parse_slurm_time(job.end);
  if (!end) return std::nullopt;
  return static_cast<double>(*end);
}

std::optional<double> queue_seconds(const SlurmJob& job, double since_s) {
  const auto start = parse_slurm_time(job.start);
  const auto submit = parse_slurm_time(job.submit);
  if (!start || !submit) return std::nullopt;
  return std::max(0.0,
                  static_cast<double>(*start) - std::max(static_cast<double>(*submit), since_s));
}

Result<Ok> requeue(System& system, const JobAllocation& allocation, const NodesInDoubt& nodes) {
  const auto name = name_of(allocation);
  const auto record = ask_of_job(system, allocation);
  // Without knowing which incarnation holds the job, a requeue might end its successor.
  if (!record) return Error{ErrorKind::timeout, "Slurm's controller does not answer", ""};
  if (record->restarts != allocation.restarts)
    return Error{ErrorKind::bad_request,
                 fmt::format("job {} is already back in the queue, or is running again", name), ""};
  if (record->state.starts_with("CANCELLED"))
    return Error{ErrorKind::bad_request, fmt::format("job {} was cancelled", name), ""};
  const bool waits = nodes.wait && record->state == "RUNNING";
  // Nodes that Slurm has removed from the job no longer matter.
  const auto& ours = record->nodes.empty() ? allocation.nodes : record->nodes;
  if (const auto doubt = waits ? doubt_in(system, ours, nodes) : ""; !doubt.empty())
    return Error{ErrorKind::timeout, doubt, ""};
  // Slurm requeues the components of a heterogeneous job together, by the first.
  const auto output = run_requeue(system, allocation.leader.empty() ? name : allocation.leader);
  if (!output) return output.error();
  if (output->exit_code == 0) return Ok{};
  const auto message = first_line(output->err.empty() ? output->out : output->err);
  if (message.empty() && is_back(system, allocation)) return Ok{};
  const bool silent = is_silence_of_controller(message);
  // Slurm has begun to end the job for a reason of its own, and decides what comes next.
  const bool slurms_turn = record->state != "RUNNING";
  return Error{silent        ? ErrorKind::timeout
               : slurms_turn ? ErrorKind::bad_request
                             : ErrorKind::unavailable,
               fmt::format("scontrol requeue {}: {}", name, message), ""};
}

Result<Ok> exclude_nodes(System& system, const JobAllocation& allocation, const Exclusion& wanted) {
  const auto name = name_of(allocation);
  constexpr std::chrono::seconds limit(5);
  // Slurm is ending this job meanwhile: TERM to each process, KILL half a minute later.
  constexpr int tries = 40;
  constexpr std::chrono::milliseconds pause(250);
  // So this is asked once, and not for long.
  constexpr std::chrono::seconds patience(2);
  std::optional<std::vector<std::string>> usable;
  Error error{ErrorKind::unavailable, fmt::format("job {} is unknown: no answer", name), ""};
  for (int i = 0; i < tries; ++i) {
    if (i > 0) std::this_thread::sleep_for(pause);
    // Nodes excluded before.
    const auto record = ask_of_job(system, allocation, limit);
    if (!record) continue;
    if (!usable) usable = usable_nodes(system, record->partition, record->reservation, patience);
    const auto all = nodes_to_exclude(wanted, record->excluded, *usable);
    auto done = set_excluded_nodes(system, name, all, limit);
    if (done) {
      const auto still_in = hosts_without(wanted.fresh, all);
      if (!still_in.empty())
        system.log(
            fmt::format("dllaunch: {} not left out: the job needs {}, and no others can "
                        "start it\n",
                        still_in, counted(wanted.needed, "node")));
      return done;
    }
    error = std::move(done).error();
  }
  return error;
}

std::optional<NodesLeft> nodes_left(System& system, const JobAllocation& allocation,
                                    std::chrono::seconds limit) {
  const auto given = expand_hosts(allocation.nodes);
  if (!given || given->empty()) return std::nullopt;
  const auto job = ask_of_job(system, allocation, limit);
  if (!job || job->state != "RUNNING" || job->restarts != allocation.restarts) return std::nullopt;
  const auto still = expand_hosts(job->nodes);
  if (!still) return std::nullopt;
  auto states = nodes_of_controller(system, allocation.nodes, limit);
  if (!states) return std::nullopt;
  NodesLeft left;
  for (const auto& name : *given) {
    const bool ours = std::find(still->begin(), still->end(), name) != still->end();
    const bool lost = std::any_of(states->begin(), states->end(), [&](const SlurmNode& node) {
      return node.name == name && is_down(node);
    });
    (ours && !lost ? left.there : left.gone).push_back(name);
  }
  std::erase_if(*states, [&left](const SlurmNode& node) {
    return std::ranges::find(left.there, node.name) == left.there.end();
  });
  left.silent =
      others_silent(system, *std::move(states), allocation, limit).value_or(SilentNodes{}).names;
  for (const auto& name : left.silent) {
    std::erase(left.there, name);
    left.gone.push_back(name);
  }
  return left;
}

std::optional<NodesOutOfOrder> nodes_out_of_order(System& system, const JobAllocation& allocation,
                                                  std::chrono::seconds limit,
                                                  const std::vector<SlurmNode>& daemons) {
  const auto answer = nodes_of_controller(system, allocation.nodes, limit);
  if (!answer && daemons.empty()) return std::nullopt;
  const auto& states = answer ? *answer : daemons;
  std::vector<std::string> out;
  for (const auto& node : states)
    if (is_down(node)) out.push_back(node.name);
  if (!out.empty())
    return NodesOutOfOrder{.names = compress_host_set(std::move(out)), .down = true};
  auto silent = others_silent(system, states, allocation, limit);
  // If neither the controller nor any other node answers, it is this one that is cut off.
  const auto others = std::ranges::count_if(
      states, [&](const SlurmNode& node) { return node.name != allocation.host; });
  if (!silent || (!answer && std::ssize(silent->names) == others)) return std::nullopt;
  return NodesOutOfOrder{.names = compress_host_set(std::move(silent->names)),
                         .refuse = silent->refuse};
}

std::vector<SlurmNode> daemons_of(System& system, const JobAllocation& allocation,
                                  std::chrono::seconds limit) {
  auto nodes = nodes_of_controller(system, allocation.nodes, limit);
  if (!nodes) return {};
  const bool asks = std::ranges::any_of(*nodes, [](const auto& node) { return node.port == 0; });
  const int port = asks ? slurmd_port(system, limit) : 0;
  if (asks && port == 0) return {};
  for (auto& node : *nodes) {
    if (node.port == 0) node.port = port;
    node.state.clear();  // it will be old
  }
  return *std::move(nodes);
}

}  // namespace dllaunch
