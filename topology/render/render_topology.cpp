#include "topology/render/render_topology.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "topology/render/node_drawing.hpp"

namespace dllaunch {
namespace {

// Text for a terminal. Lines are cut, never wrapped, to keep tables aligned.
class Page {
 public:
  Page(int columns, bool color) : columns_(static_cast<std::size_t>(columns)), color_(color) {}

  void line(const std::string& text) { out_ += cut(text) + "\n"; }

  void heading(const std::string& text) {
    out_ += color_ ? "\x1b[1m" + cut(text) + "\x1b[0m\n" : cut(text) + "\n";
  }

  void drawn(const std::string& lines) { out_ += lines; }

  std::string take() { return std::move(out_); }

 private:
  static bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

  // Counts UTF-8 characters. Replaces control characters, which could move the cursor.
  std::string cut(const std::string& text) const {
    std::string kept;
    std::size_t width = 0;
    const auto total = std::ranges::count_if(text, starts_character);
    const bool fits = static_cast<std::size_t>(total) <= columns_;
    for (const char c : text) {
      if (starts_character(c)) {
        if (!fits && width + 3 == columns_) return kept + "...";
        ++width;
      }
      kept += static_cast<unsigned char>(c) < ' ' ? '?' : c;
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

std::string or_dash(std::string text) {
  return text.empty() ? "-" : std::move(text);
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
    auto part = gpu.partition < 0 ? "" : fmt::format(" part {}", gpu.partition);
    if (!gpu.mode.empty()) part += " " + gpu.mode;
    rows.push_back({std::to_string(gpu.index), or_dash(gpu.vendor), or_dash(gpu.pci) + part,
                    or_dash(to_list(gpu.numa)), or_dash(to_list(gpu.cpus)), or_dash(gpu.name)});
  }
  render_table(rows, page);
}

// "NV12", "XGMI4", "PXB", as in nvidia-smi and rocm-smi.
std::string link_text(const GpuLink& link) {
  std::string text = link.path.empty() ? "PCIE" : link.path;
  if (link.kind == "nvlink") text = "NV";
  if (link.kind == "xgmi") text = "XGMI";
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (link.count > 0) text += std::to_string(link.count);
  return link.p2p ? text : text + "!";
}

void render_links(const Topology& topology, Page& page) {
  Row head{"LINK"};
  for (const auto& gpu : topology.gpus) head.push_back(fmt::format("GPU{}", gpu.index));
  std::vector<Row> rows{head};
  for (const auto& from : topology.gpus) {
    Row row{fmt::format("GPU{}", from.index)};
    for (const auto& to : topology.gpus) {
      const auto link = std::ranges::find_if(from.links, [&](const GpuLink& candidate) {
        return candidate.pci == to.pci && candidate.partition == to.partition;
      });
      row.push_back(link == from.links.end() ? "-" : link_text(*link));
    }
    rows.push_back(std::move(row));
  }
  render_table(rows, page);
  page.line("  ! one cannot read the other's memory directly");
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
  const auto source = topology.source.empty() ? "node" : topology.source;
  const auto counts = fmt::format(
      "{}, {}, {}, {}, {}", counted(static_cast<std::size_t>(topology.packages), "package"),
      counted(topology.numa.size(), "NUMA node"), counted(topology.cores.size(), "core"),
      counted(static_cast<std::size_t>(cpus.size()), "CPU"), counted(topology.gpus.size(), "GPU"));
  if (source.size() + counts.size() + 2 <= static_cast<std::size_t>(std::max(columns, narrowest))) {
    page.heading(source + ": " + counts);
  } else {
    page.heading(source + ":");
    page.heading("  " + counts);
  }
  // What `bind` prints without options; a node that takes no ranks is drawn without any.
  const auto placement = place_ranks(topology, {});
  page.drawn(draw_node(topology, placement ? *placement : Placement{}, columns, color));
  if (topology.allowed_cpus != topology.present_cpus)
    page.line(fmt::format("  allowed CPUs {}", or_dash(to_list(topology.allowed_cpus))));
  if (!topology.gpus.empty()) {
    page.line("");
    render_gpus(topology, page);
  }
  if (std::ranges::any_of(topology.gpus, [](const Gpu& gpu) { return !gpu.links.empty(); })) {
    page.line("");
    render_links(topology, page);
  }
  if (!topology.nics.empty()) {
    page.line("");
    render_nics(topology, page);
  }
  return page.take();
}

}  // namespace dllaunch
