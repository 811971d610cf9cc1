#include "launcher/drawing/node_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "launcher/drawing/svg.hpp"

namespace dllaunch {
namespace {

constexpr double gap = 8;               // between boxes
constexpr double inset = 7;             // from a box to its content
constexpr double square = 9;            // a CPU
constexpr double pitch = 11;            // from one CPU to the next
constexpr std::size_t most_lines = 12;  // of ranks or devices in a box

std::string color_of(int local_rank) {
  return fmt::format("c{}", local_rank % svg_colors);
}

/// A line of a box: words behind a mark in a rank's colour.
struct Line {
  std::string color;  // class of the mark; empty: none
  std::string words;
};

std::string ranks_text(const std::vector<int>& ranks) {
  if (ranks.empty()) return "";
  IdSet set;
  for (const int rank : ranks) set.insert(rank);
  return fmt::format(": rank{} {}", ranks.size() == 1 ? "" : "s", to_list(set));
}

Line line_of_gpu(const Topology& topology, const Placement& placement, std::size_t position) {
  std::vector<int> users;
  for (const auto& rank : placement.ranks) {
    if (std::ranges::find(rank.gpus, static_cast<int>(position)) != rank.gpus.end())
      users.push_back(rank.local_rank);
  }
  return {users.empty() ? "free" : color_of(users.front()),
          fmt::format("GPU {}{}", topology.gpus[position].index, ranks_text(users))};
}

Line line_of_nic(const Placement& placement, const Nic& nic) {
  std::vector<int> users;
  for (const auto& rank : placement.ranks)
    if (rank.nic == nic.name) users.push_back(rank.local_rank);
  return {"nic", nic.name + ranks_text(users)};
}

/// Whether a NUMA node has a box: it has CPUs.
bool is_drawn(const Topology& topology, int node) {
  return std::ranges::any_of(topology.numa, [node](const NumaNode& one) {
    return one.index == node && !one.cpus.empty();
  });
}

/// Devices next to this NUMA node alone; -1: those of several, of none, or of one without a box.
std::vector<Line> devices_of(const Topology& topology, const Placement& placement, int node) {
  const auto wanted = [&topology, node](const IdSet& numa) {
    const bool of_one = numa.size() == 1 && is_drawn(topology, numa.first());
    return node < 0 ? !of_one : of_one && numa.first() == node;
  };
  const auto where = [node](const IdSet& numa) {
    return node < 0 && !numa.empty() ? ", at NUMA nodes " + to_list(numa) : std::string();
  };
  std::vector<Line> lines;
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    if (!wanted(topology.gpus[i].numa)) continue;
    lines.push_back(line_of_gpu(topology, placement, i));
    lines.back().words += where(topology.gpus[i].numa);
  }
  for (const Nic& nic : topology.nics) {
    if (!wanted(nic.numa)) continue;
    lines.push_back(line_of_nic(placement, nic));
    lines.back().words += where(nic.numa);
  }
  return lines;
}

std::vector<Line> ranks_of(const NumaNode& node, const Placement& placement) {
  std::vector<Line> lines;
  if (placement.policy == BindPolicy::none) return lines;
  for (const auto& rank : placement.ranks) {
    const auto cpus = rank.cpus & node.cpus;
    if (!cpus.empty())
      lines.push_back({color_of(rank.local_rank),
                       fmt::format("rank {}: CPUs {}", rank.local_rank, to_list(cpus))});
  }
  return lines;
}

void shorten(std::vector<Line>& lines) {
  if (lines.size() <= most_lines) return;
  const auto more = lines.size() - most_lines + 1;
  lines.resize(most_lines - 1);
  lines.push_back({"", fmt::format("and {} more", more)});
}

std::string color_of_cpu(const Topology& topology, const Placement& placement, int cpu) {
  if (!topology.allowed_cpus.contains(cpu)) return "denied";
  if (placement.policy == BindPolicy::none) return "free";
  int owner = -1;
  for (const auto& rank : placement.ranks) {
    if (!rank.cpus.contains(cpu)) continue;
    if (owner >= 0) return "shared";
    owner = rank.local_rank;
  }
  return owner < 0 ? "free" : color_of(owner);
}

/// One NUMA node's box without its frame: its markup from (x, y), and its height.
struct Box {
  std::string content;
  double height = 0;
};

Box box_of(const Topology& topology, const Placement& placement, const NumaNode& node, double x,
           double y, double wide) {
  const double top = y;
  const int letters = static_cast<int>((wide - 2 * inset) / svg_letter);
  std::string title = fmt::format("NUMA {}", node.index);
  if (node.memory_bytes > 0)
    title += fmt::format(", {:.0f} GiB", static_cast<double>(node.memory_bytes) / (1 << 30));
  std::string content = svg_text(x + inset, y + 15, "start", shortened(title, letters)) + "\n";
  y += 22;
  const int a_row = std::max(1, static_cast<int>((wide - 2 * inset) / pitch));
  int row = 0;
  int column = 0;
  for (const int cpu : node.cpus.ids()) {
    if (column == a_row) {
      ++row;
      column = 0;
    }
    content += svg_box(color_of_cpu(topology, placement, cpu), x + inset + pitch * column,
                       y + pitch * row, square, square);
    ++column;
  }
  y += pitch * (row + 1) + 4;
  auto lines = ranks_of(node, placement);
  shorten(lines);
  auto devices = devices_of(topology, placement, node.index);
  shorten(devices);
  lines.insert(lines.end(), devices.begin(), devices.end());
  for (const Line& line : lines) {
    if (!line.color.empty()) content += svg_box(line.color, x + inset, y + 5, square, square);
    content += svg_text(x + inset + 14, y + 14, "start", shortened(line.words, letters - 2)) + "\n";
    y += svg_line;
  }
  return {.content = std::move(content), .height = y - top + 6};
}

std::string frame(double x, double y, double wide, double high) {
  return svg_box("frame", x, y, wide, high) + "\n";
}

}  // namespace

std::string draw(const Topology& topology, const Placement& placement) {
  std::vector<const NumaNode*> nodes;
  for (const NumaNode& node : topology.numa)
    if (!node.cpus.empty()) nodes.push_back(&node);
  if (nodes.empty()) return "";
  const std::size_t columns = nodes.size() == 1 ? 1 : 2;
  const double wide = (svg_width - 4 - gap * double(columns - 1)) / double(columns);
  std::string content;
  double y = 2;
  for (std::size_t begin = 0; begin < nodes.size(); begin += columns) {
    const auto end = std::min(begin + columns, nodes.size());
    std::vector<Box> boxes;
    double highest = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const double x = 2 + (wide + gap) * double(i - begin);
      boxes.push_back(box_of(topology, placement, *nodes[i], x, y, wide));
      highest = std::max(highest, boxes.back().height);
    }
    for (std::size_t i = 0; i < boxes.size(); ++i)
      content += frame(2 + (wide + gap) * double(i), y, wide, highest) + boxes[i].content;
    y += highest + gap;
  }
  auto others = devices_of(topology, placement, -1);
  shorten(others);
  for (const Line& line : others) {
    if (!line.color.empty()) content += svg_box(line.color, 9, y + 2, square, square);
    content += svg_text(23, y + 11, "start", shortened(line.words, 66)) + "\n";
    y += svg_line;
  }
  return svg_drawing("node", y, "a node: its NUMA nodes, CPUs, GPUs and NICs, and their ranks",
                     content);
}

}  // namespace dllaunch
