#include "topology/diagnosis/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/core.h>

#include "topology/diagnosis/diagnosis_rules.hpp"

namespace dllaunch {
namespace {

struct RuleEntry {
  RuleName name;
  Rule check;
};

/// Ids are permanent: a removed rule leaves a gap, a new one gets the next number.
constexpr RuleEntry table[] = {
    {{"A01", "rank far from its GPU",
      "every copy to the GPU and every kernel launch crosses the link between sockets or dies"},
     far_from_gpu},
    {{"A02", "ranks share CPUs",
      "CPUs are oversubscribed, and every collective waits for the slowest rank"},
     overlapping},
    {{"A03", "rank is not bound",
      "the kernel migrates it away from its memory and GPU, and onto other ranks' CPUs"},
     unbound},
    {{"A04", "mask is empty or impossible",
      "the rank is refused, or runs where the kernel happens to put it"},
     bad_mask},
    {{"A05", "hardware threads of one core belong to different ranks",
      "the ranks share that core's units and caches and slow each other down"},
     split_siblings},
    {{"A06", "fewer CPUs than threads",
      "threads wait for a CPU; at OpenMP barriers all wait for the last"},
     too_many_threads},
    {{"A07", "strict memory policy",
      "when these nodes are full the rank is killed, though others have room"},
     strict_memory},
    {{"A08", "memory policy points to remote nodes",
      "memory is read across the link between sockets or dies at a fraction of the speed"},
     remote_memory},
    {{"A09", "GPUs of a node are hidden from its other ranks",
      "peer-to-peer copies and CUDA/HIP IPC (NVLink, xGMI) can be off, silently"},
     hidden_gpus},
    {{"A10", "VISIBLE_DEVICES variables are wrong or clash",
      "the rank finds no GPU, or the wrong one"},
     visible_clash},
    {{"A11", "several ranks drive one GPU while another idles",
      "the ranks share it, and the idle GPU is paid for"},
     shared_gpu},
    {{"A12", "network interface is far, or not the one named",
      "traffic between nodes takes a detour through another socket, or the slow network"},
     far_nic},
    {{"A13", "CPUs-per-task variables clash",
      "a step may get one CPU per task, or srun may refuse to start"},
     cpus_per_task_clash},
    {{"A14", "reserved cores are used", "the system's own work interrupts the rank there"},
     reserved_used},
    {{"A15", "CPUs differ from the plan", "the rank does not run where it was planned to"},
     smaller_than_plan},
    {{"A16", "locked-memory limit is low",
      "the network cannot register buffers: RDMA falls back to slow copies or fails"},
     locked_memory},
    {{"A17", "/dev/shm is small",
      "NCCL, Open MPI and data loaders keep buffers there; a full one is a bus error"},
     small_shared_memory},
    {{"A18", "two GPU runtimes in one process",
      "each creates its own context, and libraries may not share memory, or crash"},
     two_runtimes},
    {{"A19", "GPUs are not numbered in PCI order",
      "tools that count differently (nvidia-smi, CUDA, Slurm) mean different GPUs by one number"},
     gpu_order},
    {{"A20", "open-files limit is low",
      "sockets to many ranks and data files run out of descriptors"},
     few_open_files},
    {{"A21", "threads run outside their rank's CPUs",
      "threads that started before the binding keep the old one, and their memory stays there"},
     stray_threads},
    {{"A22", "OpenMP threads are sent outside their rank's CPUs",
      "their binding fails, or the threads of all ranks meet on the same CPUs"},
     openmp_elsewhere},
    {{"A23", "device of unknown locality", "ranks cannot be placed near it"}, unknown_locality},
    {{"A24", "not all CPUs of the node may be used",
      "the rest belongs to the system or other jobs"},
     not_all_cpus},
    {{"A25", "some values could not be read", "rules that need them were skipped"}, not_all_read},
    {{"A26", "cores of the job idle",
      "data workers and threads crowd the other cores, and the idle ones are paid for"},
     idle_cores},
};

constexpr auto names = [] {
  std::array<RuleName, std::size(table)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = table[i].name;
  return all;
}();

constexpr std::size_t most_facts = 4;

std::string told(const std::vector<std::string>& facts) {
  std::string text;
  for (std::size_t i = 0; i < std::min(facts.size(), most_facts); ++i)
    text += (i == 0 ? "" : "; ") + facts[i];
  if (facts.size() > most_facts) text += fmt::format("; and {} more", facts.size() - most_facts);
  return text;
}

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::ok:
      return "OK";
    case Level::warn:
      return "WARN";
    case Level::fail:
      return "FAIL";
  }
  return "OK";
}

std::vector<Finding> diagnose(const Topology& topology, const NodeObservation& node) {
  const auto context = scene_of(topology, node);
  std::vector<Finding> findings;
  for (const auto& [name, check] : table) {
    for (auto& found : check(context)) {
      findings.push_back({.id = std::string(name.id),
                          .level = found.level,
                          .ranks = std::move(found.ranks),
                          .job = node.job,
                          .seen = told(found.seen),
                          .cost = std::string(name.cost),
                          .fix = std::move(found.fix)});
    }
  }
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::level);
  return findings;
}

std::vector<std::vector<int>> gpus_of_ranks(const Topology& topology, const NodeObservation& node) {
  return scene_of(topology, node).driven;
}

std::span<const RuleName> rule_names() {
  return names;
}

bool matters_to_doctor(std::string_view name) {
  constexpr std::string_view prefixes[] = {"OMP_",  "KMP_",  "GOMP_", "SLURM_",   "SRUN_",
                                           "NCCL_", "CUDA_", "HSA_",  "DLLAUNCH_"};
  constexpr std::string_view exact[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                        "GPU_DEVICE_ORDINAL",   "ZE_AFFINITY_MASK",
                                        "SLURMD_TRES_BIND",     "PMIX_NAMESPACE"};
  return std::ranges::any_of(prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::ranges::find(exact, name) != std::end(exact);
}

void add_rank(IdSet& ranks, int rank) {
  if (rank >= 0 && rank <= IdSet::max_id) ranks.insert(rank);
}

std::string rank_words(const IdSet& ranks) {
  constexpr std::size_t longest = 24;
  constexpr std::size_t beginning = 10;
  auto text = to_list(ranks);
  if (text.size() <= longest) return text;
  return fmt::format("{},...,{} ({} ranks)", text.substr(0, text.rfind(',', beginning)),
                     ranks.last(), ranks.size());
}

}  // namespace dllaunch
