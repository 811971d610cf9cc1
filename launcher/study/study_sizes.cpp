#include "launcher/study/study_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// GPUs of a rank, as planned; 0: it has none. Ranks that share GPUs are scaled as they are.
int gpus_of_rank(const LaunchPlan& plan) {
  const auto& ranks = plan.placement.ranks;
  return ranks.empty() ? 0 : static_cast<int>(ranks.front().gpus.size());
}

Result<StudySize> size_of(int ranks, const LaunchPlan& plan) {
  const int full = plan.ranks_per_node;
  if (ranks > full && ranks % full != 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("--ranks {}: a node has {}, and {} do not fill whole nodes", ranks,
                             counted(full, "rank"), ranks),
                 fmt::format("take multiples of {}, or --nodes", full)};
  const int here = std::min(ranks, full);
  StudySize size{.ranks = ranks, .nodes = ranks / here};
  size.sets = {fmt::format("resources.nodes={}", size.nodes),
               fmt::format("resources.ranks_per_node={}", here)};
  if (const int gpus = gpus_of_rank(plan); gpus > 0)
    size.sets.push_back(fmt::format("resources.gpus_per_node={}", gpus * here));
  return size;
}

/// Keeps the global batch of the job as written.
Result<Ok> divide_batch(const Job& job, const LaunchPlan& plan, StudySize& size) {
  const auto batch = value_at<std::optional<int>>(job.train, "batch_size");
  if (!batch)
    return Error{ErrorKind::bad_request,
                 "train.batch_size is not a number: strong scaling divides the global batch",
                 "write a number, or measure weak scaling with --weak"};
  const int global = *batch * plan.ranks();
  if (global % size.ranks != 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("the global batch of {} ({} ranks x {}) cannot be divided by {} ranks",
                             global, plan.ranks(), *batch, size.ranks),
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
  std::vector<StudySize> sizes;
  for (const int count : counts) {
    auto size = size_of(by_nodes ? count * plan.ranks_per_node : count, plan);
    if (!size) return std::move(size).error();
    if (!job.train.is_null() && wanted.scaling == Scaling::strong) {
      if (auto divided = divide_batch(job, plan, *size); !divided)
        return std::move(divided).error();
    }
    sizes.push_back(*std::move(size));
  }
  return sizes;
}

}  // namespace dllaunch
