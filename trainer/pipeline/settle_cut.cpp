#include "trainer/pipeline/settle_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "support/counted.hpp"
#include "support/position.hpp"
#include "trainer/graph/stages.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {
namespace {

/// A network in segments, with their costs.
struct Segments {
  std::vector<int> points;  // cut_points()
  std::vector<Graph> graphs;
  std::vector<SegmentCost> costs;  // estimates
  std::vector<SharedBytes> shared;
};

Segments segments_of(const Graph& whole, const TrainingSizes& sizes) {
  Segments segments;
  segments.points = cut_points(whole);
  segments.graphs = cut_graph(whole, segments.points);
  for (const Graph& graph : segments.graphs)
    segments.costs.push_back(estimate_segment(graph, sizes));
  segments.shared = shared_bytes(segments.graphs, sizes);
  return segments;
}

PartitionTask task_of(const Segments& segments, const CutOptions& options) {
  return {.segments = segments.costs,
          .shared = segments.shared,
          .stages = options.stages,
          .micro_batches = options.micro_batches,
          .seconds_per_byte = options.seconds_per_byte,
          .memory_bytes = options.memory_bytes};
}

/// A node, or the last one of a block; -1: neither.
int node_named(const Graph& graph, const std::string& name) {
  int last = -1;
  for (int n = 0; n < std::ssize(graph.nodes); ++n) {
    const std::string& known = graph.nodes[at(n)].name;
    if (known == name) return n;
    if (known.starts_with(name + ".")) last = n;
  }
  return last;
}

/// "conv1 or layer1.0.relu": where a cut is possible before and after the node.
std::string near_points(const Graph& graph, const std::vector<int>& points, int node) {
  const auto next = std::ranges::lower_bound(points, node);
  std::string text;
  if (next != points.begin()) text = graph.nodes[at(*std::prev(next))].name;
  if (next == points.end()) return text;
  return text + (text.empty() ? "" : " or ") + graph.nodes[at(*next)].name;
}

Error refusal(const std::string& what, const std::string& hint) {
  return {ErrorKind::bad_request, "runtime.pipeline.cut: " + what, hint};
}

std::string_view why_no_cut(const Graph& whole, int node) {
  if (node == 0) return "no layer comes before it";
  if (node + 1 == std::ssize(whole.nodes)) return "no layer comes after it";
  return "more than one value is needed later, or the next layer is computed with it";
}

/// Returns, per stage, the segment after its last.
Result<std::vector<int>> given_ends(const Graph& whole, const std::vector<int>& points,
                                    const std::vector<std::string>& names) {
  std::vector<int> ends;
  for (const std::string& name : names) {
    const int node = node_named(whole, name);
    const auto at_node = std::ranges::find(points, node);
    if (node < 0) {
      std::string all;
      for (const int point : points) {
        all += (all.empty() ? "" : ", ") + whole.nodes[at(point)].name;
      }
      return refusal(fmt::format("model {} has no layer {}", whole.model, shown_name(name)),
                     "cut after one of: " + all);
    }
    if (at_node == points.end()) {
      return refusal(fmt::format("there is no cut after {}: {}", whole.nodes[at(node)].name,
                                 why_no_cut(whole, node)),
                     "cut after " + near_points(whole, points, node));
    }
    const int end = static_cast<int>(at_node - points.begin()) + 1;
    if (!ends.empty() && end <= ends.back()) {
      return refusal(fmt::format("{} does not come after the layer before it in the list", name),
                     "list them from the input on, each once");
    }
    ends.push_back(end);
  }
  ends.push_back(static_cast<int>(points.size()) + 1);
  return ends;
}

/// The user's stages, or the best ones.
Result<Partition> partition_of(const Graph& whole, const Segments& segments,
                               const CutOptions& options) {
  const PartitionTask task = task_of(segments, options);
  if (options.after.empty()) return choose_partition(task);
  auto ends = given_ends(whole, segments.points, options.after);
  if (!ends) return std::move(ends).error();
  return cost_of(task, *std::move(ends));
}

Cut cut_of(const Graph& whole, const Segments& segments, const Partition& partition,
           int micro_batches, bool measured) {
  Cut cut{.after = {},
          .stages = {},
          .measured = measured,
          .micro_batches = micro_batches,
          .step_seconds = partition.step_seconds,
          .idle = partition.idle};
  for (int stage = 0; stage + 1 < std::ssize(partition.ends); ++stage) {
    cut.after.push_back(segments.points[at(partition.ends[at(stage)] - 1)]);
  }
  const auto stages = cut_graph(whole, cut.after);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    cut.stages.push_back({.first = stages[stage].nodes[1].name,
                          .last = stages[stage].nodes.back().name,
                          .parameters = stages[stage].parameter_count(),
                          .cost = partition.stages[stage]});
  }
  return cut;
}

std::string in_mib(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

Result<Cut> estimate_cut(const Graph& whole, const CutOptions& options) {
  const Segments segments = segments_of(whole, options.sizes);
  auto partition = partition_of(whole, segments, options);
  if (!partition) return std::move(partition).error();
  return cut_of(whole, segments, *partition, options.micro_batches, /*measured=*/false);
}

Result<Cut> settle_cut(const Graph& whole, const CutOptions& options, const CompileSegment& compile,
                       Communicator& world) {
  const auto told_once = [&](const Error& error) {
    return world.rank() == 0 ? error : Error{error.kind, "", ""};
  };
  if (!options.after.empty() || options.stages == 1) {
    auto cut = estimate_cut(whole, options);
    return cut ? std::move(cut) : told_once(cut.error());
  }
  Segments segments = segments_of(whole, options.sizes);
  auto seconds = time_segments(segments.graphs, compile, options.sizes.batch, world);
  if (!seconds) return std::move(seconds).error();
  for (std::size_t s = 0; s < seconds->size(); ++s) segments.costs[s].seconds = (*seconds)[s];
  CutOptions least = options;
  constexpr double unlimited = 0x1p62;
  if (options.memory_left) least.memory_bytes = options.memory_left();
  const double mine = least.memory_bytes ? static_cast<double>(*least.memory_bytes) : unlimited;
  const double bytes = std::ranges::min(gather(world, {&mine, 1}));
  if (bytes < unlimited) least.memory_bytes = static_cast<std::int64_t>(bytes);
  auto partition = partition_of(whole, segments, least);
  if (!partition) return told_once(partition.error());
  return cut_of(whole, segments, *partition, options.micro_batches, /*measured=*/true);
}

std::vector<std::string> cut_lines(const Cut& cut) {
  double sum = 0;
  for (const StageOutline& stage : cut.stages) sum += stage.cost.seconds;
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < cut.stages.size(); ++s) {
    const auto& [first, last, parameters, cost] = cut.stages[s];
    const std::string time =
        cut.measured ? fmt::format("{:.1f} ms a micro-batch", cost.seconds * 1e3)
                     : fmt::format("about {:.0f} % of the work", 100 * cost.seconds / sum);
    lines.push_back(fmt::format(
        "stage {}: {} to {}, {:.2f} M parameters, {} of weights, gradients and states, {} of "
        "activations for {} in flight, {}",
        s + 1, first, last, static_cast<double>(parameters) * 1e-6, in_mib(cost.held_bytes),
        in_mib(cost.in_flight * cost.activation_bytes), counted(cost.in_flight, "micro-batch"),
        time));
  }
  const int stages = static_cast<int>(cut.stages.size());
  std::string waits =
      fmt::format("{} and {} a step: ranks wait {:.0f} % of it", counted(stages, "stage"),
                  counted(cut.micro_batches, "micro-batch"), 100 * cut.idle);
  if (cut.micro_batches < 2 * stages) waits += "; more train.accumulate makes it less";
  lines.push_back(std::move(waits));
  return lines;
}

}  // namespace dllaunch
