// Rules about memory and process limits.
#include <algorithm>

#include <fmt/core.h>

#include "topology/diagnosis/diagnosis_rules.hpp"

namespace dllaunch {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// NUMA nodes with memory that contain CPUs of the rank.
IdSet local_memory(const DiagnosisContext& context, const RankObservation& rank) {
  IdSet local;
  for (const auto& node : context.topology.numa)
    if (node.memory_bytes > 0 && node.cpus.intersects(rank.cpus)) local.insert(node.index);
  return local;
}

IdSet all_memory(const DiagnosisContext& context) {
  IdSet all;
  for (const auto& node : context.topology.numa)
    if (node.memory_bytes > 0 && node.kind != "gpu") all.insert(node.index);
  return all;
}

}  // namespace

std::vector<Found> strict_memory(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "prefer instead of bind: srun --mem-bind=prefer,local, numactl --preferred=N "
                  "instead of --membind=N"};
  const auto all = all_memory(context);
  for (int i = 0; i < context.count(); ++i) {
    const auto& memory = context.rank(i).memory;
    if (memory.mode == "bind" && !memory.nodes.contains(all))
      note(found, context, i,
           fmt::format("may use only the memory of {}", numa_words(memory.nodes)));
  }
  return only(std::move(found));
}

std::vector<Found> remote_memory(const DiagnosisContext& context) {
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "srun --mem-bind=prefer,local (or none: Linux allocates where a page is first "
                  "touched), numactl --localalloc"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    const auto local = local_memory(context, rank);
    if (local.empty()) continue;
    if (!rank.memory.nodes.empty() && !rank.memory.nodes.intersects(local))
      note(found, context, i,
           fmt::format("runs on {}, its memory policy is {} on {}", numa_words(local),
                       rank.memory.mode, numa_words(rank.memory.nodes)));
    else if (!rank.allowed_numa.empty() && !rank.allowed_numa.intersects(local))
      note(found, context, i,
           fmt::format("runs on {}, its cpuset allows memory of {} only", numa_words(local),
                       numa_words(rank.allowed_numa)));
  }
  return only(std::move(found));
}

std::vector<Found> locked_memory(const DiagnosisContext& context) {
  // InfiniBand, RoCE and EFA register buffers; for a large model, several hundred MiB.
  constexpr std::uint64_t enough = 1024 * mib;
  const bool fabric =
      std::ranges::any_of(context.topology.nics, [](const Nic& nic) { return nic.fabric; });
  if (!fabric) return {};
  Found found{.level = Level::warn,
              .ranks = {},
              .seen = {},
              .fix =
                  "ulimit -l unlimited before srun (in a job file: environment: {setup: ulimit -l "
                  "unlimited}); where that is refused, ask the administrators for "
                  "LimitMEMLOCK=infinity for slurmd"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& limit = context.rank(i).locked_memory_bytes;
    if (limit && *limit < enough)
      note(found, context, i, fmt::format("may lock {}", size_words(*limit)));
  }
  return only(std::move(found));
}

std::vector<Found> small_shared_memory(const DiagnosisContext& context) {
  // The default in containers; one rank with data workers fills it at once.
  constexpr std::uint64_t small = 64 * mib;
  constexpr std::uint64_t each = 32 * mib;
  const std::string fix =
      "a larger one: docker --shm-size=8g or --ipc=host, enroot/apptainer use the node's; on the "
      "node: mount -o remount,size=50% /dev/shm; remove what dead jobs left there";
  const auto& memory = context.node.shared_memory;
  if (!memory)
    return {{.level = Level::warn, .ranks = {}, .seen = {"there is no /dev/shm"}, .fix = fix}};
  const auto ranks = static_cast<std::uint64_t>(std::max(context.count(), 1));
  const auto seen =
      fmt::format("{} in all, {} free, for {} rank{}", size_words(memory->total_bytes),
                  size_words(memory->free_bytes), ranks, ranks == 1 ? "" : "s");
  if (memory->free_bytes < each * ranks)
    return {{.level = Level::fail, .ranks = {}, .seen = {seen}, .fix = fix}};
  if (memory->total_bytes <= small * ranks)
    return {{.level = Level::warn, .ranks = {}, .seen = {seen}, .fix = fix}};
  return {};
}

std::vector<Found> few_open_files(const DiagnosisContext& context) {
  // A ring or tree over sockets needs a few for each peer, plus files of data and Python.
  constexpr std::uint64_t own = 512;
  constexpr std::uint64_t each_peer = 4;
  Found found{.level = Level::warn, .ranks = {}, .seen = {}, .fix = "ulimit -n 65536 before srun"};
  for (int i = 0; i < context.count(); ++i) {
    const auto& rank = context.rank(i);
    const auto needed = own + each_peer * static_cast<std::uint64_t>(std::max(rank.world_size, 1));
    if (rank.open_files && *rank.open_files < needed)
      note(found, context, i,
           fmt::format("may open {} files, in a job of {} ranks", *rank.open_files,
                       rank.world_size));
  }
  return only(std::move(found));
}

}  // namespace dllaunch
