// The rules and their input. Internal to the diagnosis.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/diagnosis/diagnosis.hpp"
#include "topology/diagnosis/visible_gpus.hpp"

namespace dllaunch {

struct DiagnosisContext {
  const Topology& topology;
  const NodeObservation& node;
  std::optional<Placement> advice;       // where place_ranks() would put this many ranks
  std::vector<VisibleGpus> visible;      // for each of node.ranks
  std::vector<std::vector<int>> driven;  // likewise
  std::vector<bool> uses_gpu;            // likewise, as far as is visible

  const RankObservation& rank(int i) const { return node.ranks[static_cast<std::size_t>(i)]; }
  int count() const { return static_cast<int>(node.ranks.size()); }
  /// The placement advised for rank i; null without advice.
  const RankPlacement* advised(int i) const;
  /// Whether it may run on every CPU of the job.
  bool unbound(int i) const;
};

DiagnosisContext scene_of(const Topology& topology, const NodeObservation& node);

/// A finding without the rule's id and title. A rule's `cost` and `fix` are equal for all ranks, so
/// findings of many nodes can be merged.
struct Found {
  Level level = Level::warn;
  IdSet ranks = {};
  std::vector<std::string> seen = {};  // one fact for each rank; only the first few are shown
  std::string fix = {};
};
using Rule = std::vector<Found> (*)(const DiagnosisContext& context);

/// Adds a fact about rank i, prefixed with "rank 3" (or "process 120").
void note(Found& found, const DiagnosisContext& context, int i, const std::string& fact);
/// Returns `found` as the only finding of a rule; none if nothing was noted.
std::vector<Found> only(Found found);

std::string cpu_words(const IdSet& cpus);                       // "CPU 3", "CPUs 0-7", "no CPU"
std::string numa_words(const IdSet& nodes);                     // "NUMA node 3", "NUMA nodes 0-1"
std::string gpu_words(const Topology& topology, int position);  // "GPU 3 (0000:c1:00.0)"
std::string size_words(std::uint64_t bytes);                    // "64 MiB"
/// Returns the flags that bind all ranks of this node as advised. `key` is the equivalent in a job
/// file's `binding`.
std::string fix_binding(const DiagnosisContext& context, std::string_view key = "policy: closest");
/// The value of rank i's variable; null if unset.
const std::string* variable(const DiagnosisContext& context, int i, const char* name);
/// The number at the start of such a value; 0 if there is none.
int number_in(const std::string* text);

// diagnosis_cpus.cpp
std::vector<Found> far_from_gpu(const DiagnosisContext& context);
std::vector<Found> overlapping(const DiagnosisContext& context);
std::vector<Found> unbound(const DiagnosisContext& context);
std::vector<Found> split_siblings(const DiagnosisContext& context);
std::vector<Found> too_many_threads(const DiagnosisContext& context);
std::vector<Found> reserved_used(const DiagnosisContext& context);
std::vector<Found> idle_cores(const DiagnosisContext& context);
std::vector<Found> stray_threads(const DiagnosisContext& context);
std::vector<Found> openmp_elsewhere(const DiagnosisContext& context);
// diagnosis_gpus.cpp
std::vector<Found> hidden_gpus(const DiagnosisContext& context);
std::vector<Found> visible_clash(const DiagnosisContext& context);
std::vector<Found> shared_gpu(const DiagnosisContext& context);
std::vector<Found> far_nic(const DiagnosisContext& context);
std::vector<Found> two_runtimes(const DiagnosisContext& context);
std::vector<Found> gpu_order(const DiagnosisContext& context);
std::vector<Found> unknown_locality(const DiagnosisContext& context);
// diagnosis_memory.cpp
std::vector<Found> strict_memory(const DiagnosisContext& context);
std::vector<Found> remote_memory(const DiagnosisContext& context);
std::vector<Found> locked_memory(const DiagnosisContext& context);
std::vector<Found> small_shared_memory(const DiagnosisContext& context);
std::vector<Found> few_open_files(const DiagnosisContext& context);
// diagnosis_slurm.cpp
std::vector<Found> bad_mask(const DiagnosisContext& context);
std::vector<Found> cpus_per_task_clash(const DiagnosisContext& context);
std::vector<Found> smaller_than_plan(const DiagnosisContext& context);
std::vector<Found> not_all_cpus(const DiagnosisContext& context);
std::vector<Found> not_all_read(const DiagnosisContext& context);

}  // namespace dllaunch
