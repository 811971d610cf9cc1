#include "trainer/pipeline/partition.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "support/counted.hpp"
#include "support/position.hpp"

namespace dllaunch {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// What a stage costs; infinity: it is not allowed.
using StageSeconds = std::function<double(int stage, int first, int end)>;

/// Costs of any stage [first, end), in constant time but for shared parameters.
class StageTable {
 public:
  explicit StageTable(const PartitionTask& task) : task_(task), until_(1) {
    for (const SegmentCost& segment : task.segments) {
      SegmentCost sum = until_.back();
      sum.seconds += segment.seconds;
      sum.held_bytes += segment.held_bytes;
      sum.activation_bytes += segment.activation_bytes;
      until_.push_back(sum);
    }
  }

  int segments() const { return static_cast<int>(task_.segments.size()); }

  StageCost cost(int stage, int first, int end) const {
    const SegmentCost& before = until_[at(first)];
    const SegmentCost& all = until_[at(end)];
    StageCost cost{.seconds = all.seconds - before.seconds + transfer(first) + transfer(end),
                   .held_bytes = all.held_bytes - before.held_bytes,
                   .activation_bytes = all.activation_bytes - before.activation_bytes,
                   .in_flight = std::min(task_.stages - stage, task_.micro_batches)};
    for (const SharedBytes& shared : task_.shared) {
      const auto inside = std::ranges::count_if(
          shared.segments, [=](int segment) { return segment >= first && segment < end; });
      if (inside > 1) cost.held_bytes -= (inside - 1) * shared.bytes;
    }
    return cost;
  }

 private:
  /// Across the cut before `segment`; 0 at the network's ends.
  double transfer(int segment) const {
    if (segment == 0 || segment == segments()) return 0;
    return task_.seconds_per_byte *
           static_cast<double>(task_.segments[at(segment - 1)].crossing_bytes);
  }

  const PartitionTask& task_;
  std::vector<SegmentCost> until_;  // sums of the segments before each
};

/// Returns the stages whose costs add up, by `join`, to the least; empty: all cost infinity. By
/// dynamic programming: best[s][e], the least of stages 0..s over segments 0..e-1.
std::vector<int> least(int stages, int segments, const StageSeconds& cost,
                       const std::function<double(double, double)>& join) {
  const auto width = at(segments + 1);
  std::vector<std::vector<double>> best(at(stages), std::vector<double>(width, infinite));
  std::vector<std::vector<int>> from(at(stages), std::vector<int>(width, 0));
  for (int end = 1; end <= segments; ++end) best[0][at(end)] = cost(0, 0, end);
  for (int stage = 1; stage < stages; ++stage) {
    for (int end = stage + 1; end <= segments; ++end) {
      for (int first = stage; first < end; ++first) {
        const double before = best[at(stage - 1)][at(first)];
        if (before == infinite) continue;
        const double sum = join(before, cost(stage, first, end));
        if (!(sum < best[at(stage)][at(end)])) continue;
        best[at(stage)][at(end)] = sum;
        from[at(stage)][at(end)] = first;
      }
    }
  }
  if (best.back().back() == infinite) return {};
  std::vector<int> ends(at(stages), segments);
  for (int stage = stages - 1; stage > 0; --stage) {
    ends[at(stage - 1)] = from[at(stage)][at(ends[at(stage)])];
  }
  return ends;
}

double larger(double a, double b) {
  return std::max(a, b);
}

double slowest(const Partition& partition) {
  return std::ranges::max(partition.stages, {}, &StageCost::seconds).seconds;
}

/// Of partitions that are as fast as `best`, the one whose other stages differ least: measured
/// times are not exact.
Partition evened(const PartitionTask& task, const StageSeconds& capped, Partition best) {
  const auto squared = [&](int stage, int first, int end) {
    const double seconds = capped(stage, first, end);
    return seconds * seconds;
  };
  const int segments = static_cast<int>(task.segments.size());
  Partition even = cost_of(task, least(task.stages, segments, squared, std::plus<>()));
  constexpr double rounding = 1 + 1e-9;
  return even.step_seconds <= best.step_seconds * rounding ? std::move(even) : std::move(best);
}

std::string in_gib(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30));
}

Error too_large(const PartitionTask& task, const StageTable& table) {
  const auto bytes = [&](int stage, int first, int end) {
    return static_cast<double>(table.cost(stage, first, end).bytes());
  };
  const auto smallest = cost_of(task, least(task.stages, table.segments(), bytes, larger));
  const auto most = std::ranges::max_element(smallest.stages, {}, &StageCost::bytes);
  return {
      ErrorKind::unsatisfiable,
      fmt::format("no cut into {} fits the {} of memory of a rank: the smallest needs {} on "
                  "the ranks of stage {}",
                  counted(task.stages, "stage"), in_gib(*task.memory_bytes), in_gib(most->bytes()),
                  most - smallest.stages.begin() + 1),
      "use more runtime.pipeline.stages, a smaller train.batch_size, or ranks with more memory"};
}

}  // namespace

Partition cost_of(const PartitionTask& task, std::vector<int> ends) {
  const StageTable table(task);
  Partition partition;
  partition.ends = std::move(ends);
  double sum = 0;
  double slowest = 0;
  int first = 0;
  for (int stage = 0; stage < std::ssize(partition.ends); ++stage) {
    const int end = partition.ends[at(stage)];
    partition.stages.push_back(table.cost(stage, first, end));
    sum += partition.stages.back().seconds;
    slowest = std::max(slowest, partition.stages.back().seconds);
    first = end;
  }
  partition.step_seconds = sum + (task.micro_batches - 1) * slowest;
  const double all = static_cast<double>(partition.ends.size()) * partition.step_seconds;
  partition.idle = all > 0 ? 1 - task.micro_batches * sum / all : 0;
  return partition;
}

Result<Partition> choose_partition(const PartitionTask& task) {
  const StageTable table(task);
  const int segments = table.segments();
  if (segments < task.stages) {
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("the network can be cut into at most {}, not {}",
                             counted(segments, "stage"), task.stages),
                 fmt::format("use runtime.pipeline.stages: {}", segments)};
  }
  const auto capped = [&](double most_seconds) {
    return [&, most_seconds](int stage, int first, int end) {
      const StageCost cost = table.cost(stage, first, end);
      const bool fits = !task.memory_bytes || cost.bytes() <= *task.memory_bytes;
      return fits && cost.seconds <= most_seconds ? cost.seconds : infinite;
    };
  };
  const auto any = capped(infinite);
  const auto even = least(task.stages, segments, any, larger);
  if (even.empty()) return too_large(task, table);
  // A slower slowest stage is worth it only if less crosses the cuts in sum. So try each time that
  // the slowest stage may have, from the least, until even the least sum cannot make up for it.
  const Partition fewest = cost_of(task, least(task.stages, segments, any, std::plus<>()));
  double least_sum = 0;
  for (const StageCost& stage : fewest.stages) least_sum += stage.seconds;
  std::vector<double> limits;
  for (int stage = 0; stage < task.stages; ++stage) {
    for (int first = stage; first < segments; ++first) {
      for (int end = first + 1; end <= segments; ++end) {
        const double seconds = any(stage, first, end);
        if (seconds != infinite) limits.push_back(seconds);
      }
    }
  }
  std::ranges::sort(limits);
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  Partition best = cost_of(task, even);
  limits.erase(limits.begin(), std::ranges::lower_bound(limits, slowest(best)));
  if (fewest.step_seconds < best.step_seconds) best = fewest;
  for (const double limit : limits) {
    if (least_sum + (task.micro_batches - 1) * limit >= best.step_seconds) break;
    const auto ends = least(task.stages, segments, capped(limit), std::plus<>());
    if (ends.empty()) continue;
    Partition one = cost_of(task, ends);
    if (one.step_seconds < best.step_seconds) best = std::move(one);
  }
  const StageSeconds as_fast = capped(slowest(best));
  return evened(task, as_fast, std::move(best));
}

}  // namespace dllaunch
