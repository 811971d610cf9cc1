#include "launcher/autopsy/merge_stacks.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "launcher/autopsy/odd_rank.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

auto key_of(const StackFrame& frame) {
  return std::tie(frame.function, frame.file, frame.line, frame.language);
}

bool comes_before(const Stack& a, const Stack& b) {
  return std::ranges::lexicographical_compare(
      a, b, [](const StackFrame& x, const StackFrame& y) { return key_of(x) < key_of(y); });
}

/// What a rank waits in, and what that decides, come from its program's main thread.
std::vector<StackGroup> groups_of(const std::vector<const ProcessStacks*>& programs) {
  const auto before = [](const Stack* a, const Stack* b) { return comes_before(*a, *b); };
  std::map<const Stack*, StackGroup, decltype(before)> groups(before);
  for (const ProcessStacks* program : programs) {
    StackGroup& group = groups[&program->main_stack()];
    if (group.ranks.empty()) {
      group.frames = program->main_stack();
      group.collective = collective_of(*program);
      if (group.frames.empty()) group.why_not = why_not(*program);
    }
    group.ranks.insert(program->rank);
  }
  std::vector<StackGroup> sorted;
  for (auto& [frames, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, [](const StackGroup& a, const StackGroup& b) {
    return std::pair(-a.ranks.size(), a.ranks.first()) <
           std::pair(-b.ranks.size(), b.ranks.first());
  });
  return sorted;
}

/// A node of the prefix tree of all groups' frames.
struct Branch {
  IdSet ranks = {};
  std::vector<std::pair<StackFrame, Branch>> inner = {};  // in the order of the groups
};

Branch tree_of(const std::vector<StackGroup>& groups) {
  Branch root;
  for (const StackGroup& group : groups) {
    Branch* at = &root;
    at->ranks |= group.ranks;
    for (const StackFrame& frame : group.frames) {
      auto found = std::ranges::find(at->inner, frame, &std::pair<StackFrame, Branch>::first);
      if (found == at->inner.end()) {
        at->inner.emplace_back(frame, Branch{});
        found = at->inner.end() - 1;
      }
      at = &found->second;
      at->ranks |= group.ranks;
    }
  }
  return root;
}

/// A line per frame; frames that the same ranks are in stand below each other, and each fork
/// indents. `depth` of the root: -1.
void render(const Branch& branch, int depth, std::string& text) {
  for (const auto& [frame, inner] : branch.inner) {
    const bool forks = depth < 0 || branch.inner.size() > 1 || inner.ranks != branch.ranks;
    const int at = depth + (forks ? 1 : 0);
    text += fmt::format("{:{}}{}{}\n", "", 2 * at,
                        forks ? fmt::format("[{}] ", to_list(inner.ranks)) : "", frame_text(frame));
    render(inner, at, text);
  }
}

/// "; likewise rank 4; also look at ranks 7-8"
std::string others_in(const std::vector<OddRank>& odd) {
  IdSet alike;
  IdSet unlike;
  for (std::size_t i = 1; i < odd.size(); ++i) {
    (odd[i].why == odd.front().why ? alike : unlike).insert(odd[i].rank);
  }
  std::string text;
  for (const auto& [words, ranks] :
       {std::pair("likewise", &alike), std::pair("also look at", &unlike)}) {
    if (!ranks->empty()) {
      text +=
          fmt::format("; {} {} {}", words, ranks->size() == 1 ? "rank" : "ranks", to_list(*ranks));
    }
  }
  return text;
}

/// A line for each reason, which names its file.
std::string records_not_read(const StackReport& report) {
  std::map<std::string, IdSet> why_not;
  for (const NodeStacks& node : report.nodes) {
    for (const ProcessStacks& process : node.processes) {
      if (!process.record_why_not.empty()) why_not[process.record_why_not].insert(process.rank);
    }
  }
  std::string text;
  for (const auto& [why, ranks] : why_not)
    text += fmt::format("[{}] the dump of PyTorch's flight recorder is not read: {}\n",
                        to_list(ranks), why);
  return text;
}

std::string plain_count(int count) {
  return count == 1 ? "1 other waits" : fmt::format("{} others wait", count);
}

}  // namespace

StackReport merge_stacks(std::vector<NodeStacks> nodes) {
  StackReport report{.nodes = std::move(nodes)};
  std::ranges::sort(report.nodes, {}, &NodeStacks::host);
  std::vector<const ProcessStacks*> programs;
  for (const NodeStacks& node : report.nodes) {
    for (const ProcessStacks& process : node.processes) {
      if (process.parent == 0) programs.push_back(&process);
    }
  }
  std::ranges::stable_sort(programs, {}, &ProcessStacks::rank);
  report.groups = groups_of(programs);
  report.odd = odd_ranks(report.nodes, report.groups);
  return report;
}

std::string stack_sentence(const StackReport& report) {
  if (report.odd.empty()) return "";
  const OddRank& odd = report.odd.front();
  std::string text = fmt::format("rank {} on {} ", odd.rank, odd.host);
  if (!odd.frame.function.empty()) text += fmt::format("is in {}: it ", frame_text(odd.frame));
  text += odd.why;
  text += others_in(report.odd);
  if (odd.tells_others) return text;
  std::map<std::string, int> waiting;
  for (const StackGroup& group : report.groups) {
    if (!group.collective.empty() && !group.ranks.contains(odd.rank)) {
      waiting[group.collective] += group.ranks.size();
    }
  }
  const auto most =
      std::ranges::max_element(waiting, {}, [](const auto& each) { return each.second; });
  if (most != waiting.end()) {
    text += fmt::format("; {} in {}", plain_count(most->second), most->first);
  } else if (const StackGroup& largest = report.groups.front();
             !largest.ranks.contains(odd.rank) && !largest.frames.empty()) {
    text +=
        fmt::format("; {} in {}",
                    largest.ranks.size() == 1 ? "1 other is"
                                              : fmt::format("{} others are", largest.ranks.size()),
                    frame_text(telling_frame(largest.frames)));
  }
  return text;
}

std::string render_stacks(const StackReport& report) {
  std::string text = stack_sentence(report);
  if (!text.empty()) text += "\n\n";
  for (std::size_t i = 1; i < report.odd.size(); ++i) {
    const OddRank& odd = report.odd[i];
    text += fmt::format("rank {} on {} {}", odd.rank, odd.host, odd.why);
    if (!odd.frame.function.empty()) text += fmt::format(": {}", frame_text(odd.frame));
    text += i + 1 < report.odd.size() ? "\n" : "\n\n";
  }
  render(tree_of(report.groups), -1, text);
  for (const StackGroup& group : report.groups) {
    if (group.frames.empty()) text += fmt::format("[{}] {}\n", to_list(group.ranks), group.why_not);
  }
  for (const auto& [host, why] : report.unanswered) text += fmt::format("{}: {}\n", host, why);
  text += records_not_read(report);
  for (const NodeStacks& node : report.nodes) {
    if (node.left_out > 0) {
      text += fmt::format("{}: {} left out\n", node.host, counted(node.left_out, "process"));
    }
  }
  return text;
}

Json to_json(const StackReport& report) {
  Json groups = Json::array();
  for (const StackGroup& group : report.groups) {
    Json one = {{"ranks", to_list(group.ranks)}, {"frames", json_of(group.frames)}};
    if (!group.collective.empty()) one["collective"] = group.collective;
    if (!group.why_not.empty()) one["why_not"] = group.why_not;
    groups.push_back(std::move(one));
  }
  Json odd = Json::array();
  for (const OddRank& each : report.odd) {
    odd.push_back({{"rank", each.rank},
                   {"host", each.host},
                   {"frame", each.frame.function.empty() ? Json() : json_of(each.frame)},
                   {"why", each.why}});
  }
  Json unanswered = Json::object();
  for (const auto& [host, why] : report.unanswered) unanswered[host] = why;
  return {{"sentence", stack_sentence(report)},
          {"groups", std::move(groups)},
          {"odd", std::move(odd)},
          {"nodes", json_of(report.nodes)},
          {"unanswered", std::move(unanswered)}};
}

}  // namespace dllaunch
