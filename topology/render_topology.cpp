#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "topology/topology_format.hpp"

namespace dllaunch {
namespace {

// Text for a terminal: lines are cut, never wrapped, so a table stays a table.
class Page {
 public:
  Page(int columns, bool color) : columns_(static_cast<std::size_t>(columns)), color_(color) {}

  void line(const std::string& text) { out_ += cut(text) + "\n"; }

  void heading(const std::string& text) {
    out_ += color_ ? "\x1b[1m" + cut(text) + "\x1b[0m\n" : cut(text) + "\n";
  }

  std::string take() { return std::move(out_); }

 private:
  static bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

  // Columns are counted in characters of UTF-8; a control character would move the cursor.
  std::string cut(const std::string& text) const {
    std::string kept;
    std::size_t width = 0;
    const auto total = std::count_if(text.begin(), text.end(), starts_character);
    const bool fits = static_cast<std::size_t>(total) <= columns_;
    for (const char c : text) {
      if (starts_character(c)) {
        if (!fits && width + 3 == columns_) return kept + "...";
        ++width;
      }
      kept += c >= 0 && c < ' ' ? '?' : c;
    }
    return kept;
  }

  std::size_t columns_;
  bool color_;
  std::string out_;
};

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 30)
    return fmt::format("{:.0f} GiB", static_cast<double>(bytes) / (1 << 30));
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string or_dash(std::string text) {
  return text.empty() ? "-" : std::move(text);
}

void render_cores(const Topology& topology, const IdSet& cpus, const std::string& indent,
                  Page& page) {
  std::map<int, std::pair<std::size_t, IdSet>> by_l3;  // cores, CPUs
  for (const auto& core : topology.cores) {
    if (!cpus.intersects(core.cpus)) continue;
    auto& [cores, all] = by_l3[core.l3];
    ++cores;
    all |= core.cpus;
  }
  for (const auto& [l3, part] : by_l3) {
    const auto what = l3 < 0 ? std::string("no L3") : fmt::format("L3 {}", l3);
    page.line(fmt::format("{}{:<6} {:<9} CPUs {}", indent, what, counted(part.first, "core"),
                          to_list(part.second)));
  }
}

void render_tree(const Topology& topology, Page& page) {
  std::map<int, IdSet> packages;
  for (const auto& core : topology.cores) packages[core.package] |= core.cpus;
  IdSet shown;
  for (const auto& [package, cpus] : packages) {
    if (package < 0)
      page.line("  package unknown");
    else
      page.line(fmt::format("  package {}", package));
    IdSet left = cpus;
    for (const auto& node : topology.numa) {
      if (!node.cpus.intersects(cpus) || shown.contains(node.index)) continue;
      shown.insert(node.index);
      page.line(fmt::format("    NUMA {:<4} {:>8} {}", node.index, size_text(node.memory_bytes),
                            node.kind));
      render_cores(topology, node.cpus & cpus, "      ", page);
      left -= node.cpus;
    }
    if (!left.empty()) render_cores(topology, left, "    ", page);
  }
  for (const auto& node : topology.numa)
    if (!shown.contains(node.index))
      page.line(fmt::format("  NUMA {:<4} {:>10} {}, no CPUs", node.index,
                            size_text(node.memory_bytes), node.kind));
}

using Row = std::vector<std::string>;

void render_table(const std::vector<Row>& rows, Page& page) {
  std::vector<std::size_t> width(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  for (const auto& row : rows) {
    std::string text = "  ";
    for (std::size_t c = 0; c + 1 < row.size(); ++c)
      text += fmt::format("{:<{}}  ", row[c], width[c]);
    text += row.back();
    if (&row == &rows.front())
      page.heading(text);
    else
      page.line(text);
  }
}

void render_gpus(const Topology& topology, Page& page) {
  std::vector<Row> rows{{"GPU", "VENDOR", "PCI", "NUMA", "CPUS", "NAME"}};
  for (const auto& gpu : topology.gpus) {
    const auto part = gpu.partition < 0 ? "" : fmt::format(" part {}", gpu.partition);
    rows.push_back({std::to_string(gpu.index), or_dash(gpu.vendor), or_dash(gpu.pci) + part,
                    or_dash(to_list(gpu.numa)), or_dash(to_list(gpu.cpus)), or_dash(gpu.name)});
  }
  render_table(rows, page);
}

void render_nics(const Topology& topology, Page& page) {
  std::vector<Row> rows{{"NIC", "KIND", "PCI", "NUMA", "CPUS"}};
  for (const auto& nic : topology.nics)
    rows.push_back({or_dash(nic.name), nic.fabric ? "fabric" : "plain", or_dash(nic.pci),
                    or_dash(to_list(nic.numa)), or_dash(to_list(nic.cpus))});
  render_table(rows, page);
}

}  // namespace

std::string render_topology(const Topology& topology, int columns, bool color) {
  constexpr int narrowest = 40;
  Page page(std::max(columns, narrowest), color);
  const auto cpus = topology.cpus();
  page.heading(fmt::format(
      "{}: {}, {}, {}, {}, {}", topology.source.empty() ? "node" : topology.source,
      counted(static_cast<std::size_t>(topology.packages), "package"),
      counted(topology.numa.size(), "NUMA node"), counted(topology.cores.size(), "core"),
      counted(static_cast<std::size_t>(cpus.size()), "CPU"), counted(topology.gpus.size(), "GPU")));
  render_tree(topology, page);
  if (topology.allowed_cpus != topology.present_cpus)
    page.line(fmt::format("  allowed CPUs {}", or_dash(to_list(topology.allowed_cpus))));
  if (!topology.gpus.empty()) {
    page.line("");
    render_gpus(topology, page);
  }
  if (!topology.nics.empty()) {
    page.line("");
    render_nics(topology, page);
  }
  return page.take();
}

}  // namespace dllaunch
