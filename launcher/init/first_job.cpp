#include "launcher/init/first_job.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "launcher/job/job_file.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

int gpus_of(const Partition& partition) {
  int gpus = 0;
  for (const auto& type : partition.node_types) gpus = std::max(gpus, type.gpus);
  return gpus;
}

/// The default partition, unless only another one has GPUs. Null: the cluster has none that is up.
const Partition* partition_for(const SlurmFacts& slurm) {
  const Partition* best = nullptr;
  for (const auto& partition : slurm.partitions) {
    if (!partition.up) continue;
    const bool better = best == nullptr || (gpus_of(partition) > 0 && gpus_of(*best) == 0) ||
                        (partition.is_default && (gpus_of(partition) > 0 || gpus_of(*best) == 0));
    if (better) best = &partition;
  }
  return best;
}

void add_slurm_keys(const SlurmFacts& slurm, std::vector<DraftKey>& keys) {
  constexpr int an_hour = 60;
  const Partition* partition = partition_for(slurm);
  const int limit = partition == nullptr ? an_hour : partition->max_minutes.value_or(an_hour);
  const int minutes = std::max(1, std::min(an_hour, limit));
  keys.push_back({.key = "time",
                  .value = fmt::format("{:02}:{:02}:00", minutes / 60, minutes % 60),
                  .comment = "how long it may take; 2h and 1d12h work too"});
  if (partition == nullptr) return;
  const int gpus = gpus_of(*partition);
  keys.push_back({.key = "partition",
                  .value = partition->name,
                  .comment = gpus == 0 ? "its nodes have no GPUs"
                                       : fmt::format("its nodes have {}: one rank each",
                                                     counted(gpus, "GPU"))});
}

}  // namespace

int threads_per_core(const Facts& facts) {
  int threads = 1;
  if (!facts.slurm) return threads;
  for (const auto& partition : facts.slurm->partitions)
    for (const auto& type : partition.node_types)
      threads = std::max(threads, type.threads_per_core);
  return threads;
}

JobDraft first_job(const FirstJob& wanted, const Facts& facts) {
  JobDraft draft{.head = {"Written by dllaunch init. `dllaunch validate` checks it, `dllaunch plan "
                          "--check` shows what",
                          "would run where; docs/reference/job-file.md lists all keys."},
                 .name = stem_of(wanted.script)};
  draft.resources.push_back({.key = "nodes",
                             .value = wanted.nodes,
                             .comment = "each runs one rank per GPU; ranks_per_node: N runs N"});
  if (facts.slurm) add_slurm_keys(*facts.slurm, draft.resources);
  if (wanted.script.empty()) {
    draft.other.push_back(
        {.key = "train",
         .value = {{"model", "cnn"}, {"dataset", {{"kind", "fashion-mnist"}}}, {"epochs", 3}},
         .comment = "the built-in trainer; `run:` starts a program of yours"});
    return draft;
  }
  if (wanted.framework != "none")
    draft.other.push_back({.key = "framework",
                           .value = wanted.framework,
                           .comment = "whose variables the ranks find"});
  Json command = wanted.script.ends_with(".py") ? Json::array({"python3", "-u", wanted.script})
                                                : Json::array({wanted.script});
  draft.other.push_back(
      {.key = "run", .value = std::move(command), .comment = "started once per rank"});
  return draft;
}

}  // namespace dllaunch
