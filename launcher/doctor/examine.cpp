#include "launcher/doctor/examine.hpp"

#include <unistd.h>

#include <algorithm>

#include <fmt/core.h>

#include "launcher/cluster/named_topology.hpp"
#include "launcher/doctor/bench.hpp"
#include "launcher/doctor/observe.hpp"
#include "launcher/rank/rank_shim.hpp"

namespace dllaunch {
namespace {

/// Uses the ranks' cgroups: this process may be bound to fewer CPUs than the ranks.
void allow_what_ranks_may_use(const std::vector<RankObservation>& ranks, Topology& topology) {
  IdSet cpusets;
  IdSet bound;
  for (const auto& rank : ranks) {
    cpusets |= rank.cpuset;
    bound |= rank.cpus;
  }
  const auto known = topology.cpus();
  const auto allowed = (cpusets.empty() ? topology.allowed_cpus | bound : cpusets | bound) & known;
  if (!allowed.empty()) topology.allowed_cpus = allowed;
}

/// Reads the plan of the ranks' run if their environment names it.
void read_plan(System& system, NodeObservation& node) {
  for (const auto& rank : node.ranks) {
    const auto run_dir = rank.environment.find("DLLAUNCH_RUN_DIR");
    if (run_dir == rank.environment.end() || rank.rank < 0) continue;
    const auto text = system.read_file(run_dir->second + "/plan.json");
    auto planned = text ? read_planned_binding(*text) : Result<PlannedBinding>(text.error());
    if (!planned) return;
    // A plan made from Slurm's counts alone leaves the masks to each rank.
    const bool known = planned->exact || planned->request.policy == BindPolicy::explicit_masks;
    node.request = std::move(planned->request);
    if (known) node.planned = std::move(planned->masks);
    return;
  }
}

/// Measures from the CPUs of all ranks in `node`; without ranks, from each NUMA node.
void add_bench(const Topology& topology, const NodeObservation& node, Report& report) {
  std::vector<IdSet> cpus;
  for (const auto& rank : node.ranks)
    if (rank.rank >= 0) cpus.push_back(rank.cpus);
  report.bench = Json::array({bench_node(topology, cpus, node.host)});
}

/// GPUs and `bench` are examined once per node, not per step.
Report report_on(System& system, Topology topology, NodeObservation node, const std::string& job,
                 bool bench, bool gpus = true) {
  node.job = job;
  node.host = system.environment("SLURMD_NODENAME").value_or(system.host_name());
  node.shared_memory = observe_shared_memory();
  read_plan(system, node);
  allow_what_ranks_may_use(node.ranks, topology);
  auto report = report_of(topology, node);
  if (gpus) report.gpus = read_gpu_rows(topology, node.host);
  if (bench) add_bench(topology, node, report);
  return report;
}

/// Returns the ranks of `job`; ranks that exit meanwhile are left out.
std::vector<RankObservation> observe_ranks(const std::vector<JobProcess>& processes,
                                           const std::string& job, int wanted) {
  std::vector<RankObservation> ranks;
  for (const auto& rank : ranks_of_job(processes, job, wanted)) {
    auto seen = observe_process("", rank.pid);
    if (!seen) continue;
    seen->workers = rank.workers;
    ranks.push_back(*std::move(seen));
  }
  return ranks;
}

}  // namespace

Result<Report> examine_here(System& system, bool bench) {
  auto topology = observed_topology(system, "");
  if (!topology) return std::move(topology).error();
  auto own = observe_process("", getpid());
  if (!own) return std::move(own).error();
  NodeObservation node;
  node.ranks = {*std::move(own)};
  return report_on(system, *std::move(topology), std::move(node), "", bench);
}

Result<Report> examine_process(System& system, int pid, bool bench) {
  auto topology = observed_topology(system, "");
  if (!topology) return std::move(topology).error();
  auto seen = observe_process("", pid);
  if (!seen) {
    auto error = std::move(seen).error();
    error.kind = ErrorKind::bad_request;
    return error;
  }
  NodeObservation node;
  std::string job;
  if (seen->rank >= 0) {
    const auto processes = observe_job_processes("");
    const auto own =
        std::ranges::find_if(processes, [pid](const auto& process) { return process.pid == pid; });
    if (own != processes.end()) job = own->job;
    if (!job.empty()) node.ranks = observe_ranks(processes, job, pid);
  }
  if (node.ranks.empty()) node.ranks = {*std::move(seen)};
  return report_on(system, *std::move(topology), std::move(node), job, bench);
}

Result<Report> examine_job(System& system, const std::string& job_id, bool bench) {
  auto topology = observed_topology(system, "");
  if (!topology) return std::move(topology).error();
  auto processes = observe_job_processes("");
  const auto own =
      std::ranges::find_if(processes, [](const auto& process) { return process.pid == getpid(); });
  const std::string own_job = own == processes.end() ? "" : own->job;
  std::erase_if(processes, [&](const JobProcess& process) {
    return process.slurm_job != job_id || process.job == own_job;
  });

  Report report;
  for (const auto& job : jobs_among(processes)) {
    NodeObservation node;
    node.ranks = observe_ranks(processes, job, 0);
    if (node.ranks.empty()) continue;
    // Once per node: one step's CPUs are enough.
    const bool measure = bench && report.bench.is_null();
    const bool first = report.hosts.empty();
    merge(report, report_on(system, *topology, std::move(node), job, measure, first));
  }
  if (!report.hosts.empty()) return report;
  // Without a step, examine what a step would start from.
  auto own_process = observe_process("", getpid());
  if (!own_process) return std::move(own_process).error();
  own_process->rank = -1;
  own_process->local_rank = 0;
  own_process->local_world_size = 1;
  own_process->launcher = "none";
  own_process->environment.clear();
  NodeObservation node;
  node.ranks = {*std::move(own_process)};
  return report_on(system, *std::move(topology), std::move(node), "no step runs", bench);
}

}  // namespace dllaunch
