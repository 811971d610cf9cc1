// Rules that compare the job's request with the network between nodes (--network).
#include <fmt/core.h>

#include <charconv>

#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

/// The number at the start of a directive's value; -1 if there is none.
int number_of(const GivenOption* option) {
  if (option == nullptr) return -1;
  const auto text = option->value.bytes();
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Nodes that the script certainly asks for; -1: unknown.
int nodes_of(const Subject& subject) {
  const auto& request = subject.script.request;
  return request.node_range || request.nodes < 1 || request.nodes > 1'000'000
             ? -1
             : static_cast<int>(request.nodes);
}

void check_segment(const Subject& subject, Report& report) {
  const GivenOption* option = subject.script.directive("segment");
  const int segment = number_of(option);
  const int limit = segment_limit(subject.around.network);
  const int nodes = nodes_of(subject);
  if (segment < 1 || limit == 0) return;
  const bool divides = nodes < 0 || nodes % segment == 0;
  if (segment <= limit && divides) return;
  const int best = nodes < 0 ? limit : widest_segment(nodes, limit);
  report.add(subject.script.at(*option),
             segment > limit ? fmt::format("a block has {} nodes: a segment of {} fits none, and "
                                           "Slurm refuses the job",
                                           limit, segment)
                             : fmt::format("{} nodes are not a multiple of a segment of {}: Slurm "
                                           "refuses the job",
                                           nodes, segment),
             fmt::format("write --segment={}", best));
}

void check_no_segment(const Subject& subject, Report& report) {
  const int limit = segment_limit(subject.around.network);
  const int nodes = nodes_of(subject);
  if (limit == 0 || nodes <= leaf_widths(subject.around.network).widest) return;
  if (subject.script.directive("segment") != nullptr) return;
  if (subject.script.directive("spread-job") != nullptr) return;
  const int best = widest_segment(nodes, limit);
  const GivenOption* at = subject.script.directive("nodes");
  if (at == nullptr || best < 2) return;
  report.add(subject.script.at(*at),
             fmt::format("{} nodes are more than a block has ({}): without --segment Slurm may cut "
                         "them unevenly over blocks",
                         nodes, limit),
             fmt::format("add #SBATCH --segment={}", best));
}

void check_switches(const Subject& subject, Report& report) {
  const GivenOption* option = subject.script.directive("switches");
  const int switches = number_of(option);
  const int nodes = nodes_of(subject);
  if (switches < 1 || nodes < 1 || subject.around.network.kind != "tree") return;
  const int widest = leaf_widths(subject.around.network).widest;
  if (widest == 0 || nodes <= static_cast<std::int64_t>(switches) * widest) return;
  report.add(
      subject.script.at(*option),
      fmt::format("a leaf switch has at most {} nodes: {} nodes never fit {}; the job waits in "
                  "vain, then runs on any nodes",
                  widest, nodes, switches),
      fmt::format("write --switches={} or more", (nodes + widest - 1) / widest));
}

constexpr Rule network_table[] = {
    {"segment-impossible", Severity::error,
     "With `--network`: a `--segment` that no block holds, or that does not divide `--nodes`.",
     check_segment},
    {"segment-missing", Severity::warning,
     "With `--network`: a job wider than a block without `--segment`.", check_no_segment},
    {"switches-impossible", Severity::warning,
     "With `--network`: more nodes than so many leaf `--switches` have.", check_switches},
};

}  // namespace

std::span<const Rule> network_rules() {
  return network_table;
}

}  // namespace dllaunch::lint
