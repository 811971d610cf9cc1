#include "launcher/study/study_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>

#include "launcher/job/short_values.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// GPUs that the ranks of a node drive, as planned: one that they share counts once.
int gpus_of_node(const LaunchPlan& plan) {
  std::set<int> gpus;
  for (const auto& rank : plan.placement.ranks) gpus.insert(rank.gpus.begin(), rank.gpus.end());
  return static_cast<int>(gpus.size());
}

/// The fewest cores of a rank, as planned; 0: ranks are not bound, share cores, or the cores are
/// not known.
int cores_of_rank(const LaunchPlan& plan) {
  if (plan.placement.policy == BindPolicy::none || plan.placement.ranks.empty()) return 0;
  const auto cores_in = [&plan](const IdSet& cpus) {
    return std::ranges::count_if(plan.topology.cores,
                                 [&cpus](const Core& core) { return core.cpus.intersects(cpus); });
  };
  std::ptrdiff_t fewest = std::ssize(plan.topology.cores);
  std::ptrdiff_t together = 0;
  IdSet all;
  for (const auto& rank : plan.placement.ranks) {
    const auto own = cores_in(rank.cpus);
    fewest = std::min(fewest, own);
    together += own;
    all |= rank.cpus;
  }
  return together > cores_in(all) ? 0 : static_cast<int>(fewest);
}

/// A rank has at every size what it has in the job as written: its cores, its share of GPUs and of
/// a node's memory.
Result<StudySize> size_of(std::int64_t ranks, const Job& job, const LaunchPlan& plan) {
  const int full = plan.ranks_per_node;
  if (ranks > full && ranks % full != 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("--ranks {}: a node has {}, and {} do not fill whole nodes", ranks,
                             counted(full, "rank"), ranks),
                 fmt::format("take multiples of {}, or --nodes", full)};
  const int here = static_cast<int>(std::min<std::int64_t>(ranks, full));
  StudySize size{.ranks = static_cast<int>(ranks), .nodes = static_cast<int>(ranks / here)};
  size.sets = {fmt::format("resources.nodes={}", size.nodes),
               fmt::format("resources.ranks_per_node={}", here)};
  if (const std::int64_t gpus = gpus_of_node(plan); gpus > 0) {
    if (gpus * here % full != 0)
      return Error{ErrorKind::bad_request,
                   fmt::format("--ranks {}: {} share {}, which {} cannot", ranks,
                               counted(full, "rank"), counted(gpus, "GPU"), counted(here, "rank")),
                   fmt::format("take multiples of {}", full / std::gcd(gpus, full))};
    if (job.resources.gpus) size.sets.emplace_back("resources.gpus=null");
    size.sets.push_back(fmt::format("resources.gpus_per_node={}", gpus * here / full));
  }
  if (job.resources.memory && job.resources.memory->per == MemoryPer::node && here < full)
    size.sets.push_back(
        fmt::format("resources.memory.per_node={:.0f}M",
                    std::ceil(memory_mib(job.resources.memory->amount) * here / full)));
  if (const int cores = cores_of_rank(plan); cores > 0 && !job.resources.cpus_per_rank)
    size.sets.push_back(fmt::format("resources.cpus_per_rank={}", cores));
  return size;
}

/// Keeps the global batch of the job as written.
Result<Ok> divide_batch(const Job& job, int ranks, StudySize& size) {
  const auto batch = value_at<std::optional<int>>(job.train, "batch_size");
  if (!batch)
    return Error{ErrorKind::bad_request,
                 "train.batch_size is not a number: strong scaling divides the global batch",
                 "write a number, or measure weak scaling with --weak"};
  const std::int64_t global = static_cast<std::int64_t>(*batch) * ranks;
  if (global % size.ranks != 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("the global batch of {} ({} ranks x {}) cannot be divided by {} ranks",
                             global, ranks, *batch, size.ranks),
                 "change train.batch_size, or measure weak scaling with --weak"};
  size.sets.push_back(fmt::format("train.batch_size={}", global / size.ranks));
  return Ok{};
}

}  // namespace

Result<std::vector<StudySize>> sizes_of(const SizesWanted& wanted, const Job& job,
                                        const LaunchPlan& plan) {
  const bool by_nodes = wanted.ranks.empty();
  const char* option = by_nodes ? "--nodes" : "--ranks";
  auto counts = by_nodes ? wanted.nodes : wanted.ranks;
  std::ranges::sort(counts, std::greater());
  if (counts.empty())
    return Error{ErrorKind::bad_request, "a study needs sizes", "say --ranks 1,2,4 or --nodes 1,2"};
  if (counts.back() < 1)
    return Error{ErrorKind::bad_request, fmt::format("{} {}: at least 1", option, counts.back()),
                 ""};
  if (const auto twice = std::ranges::adjacent_find(counts); twice != counts.end())
    return Error{ErrorKind::bad_request, fmt::format("{} names {} twice", option, *twice),
                 "--repeats measures each size several times"};
  const int as_written = wanted.ranks_as_written > 0 ? wanted.ranks_as_written : plan.ranks();
  constexpr std::int64_t most_ranks = 1 << 20;
  std::vector<StudySize> sizes;
  for (const int count : counts) {
    const auto ranks = static_cast<std::int64_t>(count) * (by_nodes ? plan.ranks_per_node : 1);
    if (ranks > most_ranks)
      return Error{ErrorKind::bad_request,
                   fmt::format("{} {}: at most {} ranks", option, count, most_ranks), ""};
    auto size = size_of(ranks, job, plan);
    if (!size) return std::move(size).error();
    if (!job.train.is_null() && wanted.scaling == Scaling::strong) {
      if (auto divided = divide_batch(job, as_written, *size); !divided)
        return std::move(divided).error();
    }
    sizes.push_back(*std::move(size));
  }
  return sizes;
}

}  // namespace dllaunch
