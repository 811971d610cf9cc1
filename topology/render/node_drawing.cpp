#include "topology/render/node_drawing.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace dllaunch {
namespace {

// ---- flowing text ---------------------------------------------------------------------------

constexpr int no_rank = -1;

struct Span {
  std::string text = {};
  int rank = no_rank;  // sets its color
};

/// A word is never broken, unless it is wider than a line.
struct Word {
  std::vector<Span> spans = {};
  bool glued = false;  // no blank before it

  std::size_t width() const {
    std::size_t sum = 0;
    for (const auto& span : spans) sum += span.text.size();
    return sum;
  }
};

using Words = std::vector<Word>;

struct Branch {
  Words words = {};
  std::vector<Branch> below = {};
};

class Pen {
 public:
  Pen(int columns, bool color) : columns_(static_cast<std::size_t>(columns)), color_(color) {}

  /// `first` starts the first line, `rest` the continuation lines.
  void flow(const std::string& first, const std::string& rest, const Words& words) {
    std::string line = first;
    std::size_t width = first.size();
    bool empty = true;
    for (const auto& word : words) {
      for (const auto& piece : pieces(word, columns_ - std::max(first.size(), rest.size()))) {
        const std::size_t gap = empty || piece.glued ? 0 : 1;
        if (!empty && width + gap + piece.width() > columns_) {
          out_ += trimmed(std::move(line)) + "\n";
          line = rest;
          width = rest.size();
        } else {
          line.append(gap, ' ');
          width += gap;
        }
        for (const auto& span : piece.spans) line += painted(span);
        width += piece.width();
        empty = false;
      }
    }
    out_ += trimmed(std::move(line)) + "\n";
  }

  void tree(const std::vector<Branch>& branches, const std::string& indent) {
    for (const auto& branch : branches) {
      const bool last = &branch == &branches.back();
      const auto inner = indent + (last ? "   " : "|  ");
      flow(indent + (last ? "`- " : "|- "), inner + (branch.below.empty() ? "   " : "|  "),
           branch.words);
      tree(branch.below, inner);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  static std::vector<Word> pieces(const Word& word, std::size_t room) {
    if (word.width() <= room) return {word};
    std::vector<Word> parts{{.glued = word.glued}};
    for (const auto& span : word.spans)
      for (std::size_t done = 0; done < span.text.size();) {
        if (parts.back().width() == room) parts.push_back({.glued = true});
        const auto take = std::min(span.text.size() - done, room - parts.back().width());
        parts.back().spans.push_back({span.text.substr(done, take), span.rank});
        done += take;
      }
    return parts;
  }

  std::string painted(const Span& span) const {
    constexpr int colors = 6;  // red to cyan
    if (!color_ || span.rank == no_rank) return span.text;
    return fmt::format("\x1b[1;{}m{}\x1b[0m", 31 + span.rank % colors, span.text);
  }

  std::size_t columns_;
  bool color_;
  std::string out_;
};

Word plain(std::string text) {
  return {.spans = {{std::move(text)}}};
}

void add_cpus(const IdSet& cpus, Words& words) {
  const auto list = cpus.empty() ? "-" : to_list(cpus);
  words.push_back(plain(" CPUs"));
  for (std::size_t start = 0; start < list.size();) {
    const auto end = std::min(list.find(',', start), list.size() - 1) + 1;
    words.push_back(plain(list.substr(start, end - start)));
    words.back().glued = start > 0;
    start = end;
  }
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "? MiB";
  if (bytes >= std::uint64_t{1} << 30)
    return fmt::format("{:.0f} GiB", static_cast<double>(bytes) / (1 << 30));
  return fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// ---- ranks ----------------------------------------------------------------------------------

constexpr std::string_view marks = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr int most_marks = static_cast<int>(marks.size());

char mark_of(int rank) {
  return marks[static_cast<std::size_t>(rank) % marks.size()];
}

class Drawing {
 public:
  Drawing(const Topology& topology, const Placement& placement)
      : topology_(topology), placement_(placement), cpus_(topology.cpus()) {
    for (const auto& core : topology.cores) {
      packages_[core.package] |= core.cpus;
      if (core.l3 >= 0) l3s_[core.l3] |= core.cpus;
    }
    find_homes();
  }

  std::vector<Branch> branches() {
    std::vector<Branch> all;
    for (const auto& [package, cpus] : packages_) all.push_back(package_branch(package, cpus));
    add_memory_without_cpus(all);
    add_devices({}, all);
    return all;
  }

  bool has(char mark) const { return seen_.find(mark) != std::string::npos; }

 private:
  // ---- cores

  std::pair<char, int> mark_of_core(const Core& core) {
    std::pair<char, int> mark{core.cpus.intersects(topology_.allowed_cpus) ? '.' : 'x', no_rank};
    for (const auto& rank : placement_.ranks) {
      if (!rank.cpus.intersects(core.cpus)) continue;
      if (mark.second != no_rank) {
        mark = {'*', no_rank};
        break;
      }
      mark = {dllaunch::mark_of(rank.local_rank), rank.local_rank};
    }
    if (!has(mark.first)) seen_ += mark.first;
    return mark;
  }

  void add_cores(const IdSet& cpus, Words& words) {
    std::map<int, Word> by_l3;
    for (const auto& core : topology_.cores) {
      if (!core.cpus.intersects(cpus)) continue;
      const auto [mark, rank] = mark_of_core(core);
      auto& spans = by_l3[core.l3].spans;
      if (spans.empty() || spans.back().rank != rank) spans.push_back({"", rank});
      spans.back().text += mark;
    }
    for (auto& [l3, word] : by_l3) words.push_back(std::move(word));
    add_cpus(cpus, words);
  }

  // ---- devices

  struct Home {
    char kind = 'm';  // l3, n(uma), p(ackage), m(achine)
    int number = 0;
    bool operator<(const Home& other) const {
      return std::tie(kind, number) < std::tie(other.kind, other.number);
    }
  };

  struct Device {
    std::string pci;
    std::string bridge;
    Word word;
  };

  static bool holds(const IdSet& part, const IdSet& cpus) { return part.contains(cpus); }

  Home home_of(const IdSet& device_cpus, const IdSet& numa) const {
    const auto cpus = device_cpus & cpus_;
    const NumaNode* node = nullptr;
    for (const auto& candidate : topology_.numa) {
      if (candidate.cpus.empty()) continue;
      const bool is_it =
          cpus.empty() ? numa == IdSet{candidate.index} : holds(candidate.cpus, cpus);
      if (is_it && (node == nullptr || candidate.cpus.size() < node->cpus.size()))
        node = &candidate;
    }
    if (!cpus.empty())
      for (const auto& [l3, part] : l3s_)
        if (holds(part, cpus) && (node == nullptr || part.size() < (node->cpus & cpus_).size()) &&
            part.size() < cpus_.size())
          return {'l', l3};
    if (node != nullptr && packages_.size() + topology_.numa.size() > 2) return {'n', node->index};
    if (!cpus.empty() && packages_.size() > 1)
      for (const auto& [package, part] : packages_)
        if (holds(part, cpus)) return {'p', package};
    return node != nullptr ? Home{'n', node->index} : Home{};
  }

  std::string ranks_in_brackets(const IdSet& ranks) const {
    return ranks.empty() ? "" : " [" + to_list(ranks) + "]";
  }

  void find_homes() {
    for (std::size_t g = 0; g < topology_.gpus.size(); ++g) {
      const auto& gpu = topology_.gpus[g];
      IdSet ranks;
      for (const auto& rank : placement_.ranks)
        if (std::ranges::find(rank.gpus, static_cast<int>(g)) != rank.gpus.end())
          ranks.insert(rank.local_rank);
      Word word{.spans = {{fmt::format("GPU {}", gpu.index), ranks.first()},
                          {ranks_in_brackets(ranks), ranks.first()}}};
      devices_[home_of(gpu.cpus, gpu.numa)].push_back({gpu.pci, bridge_of(gpu), std::move(word)});
    }
    for (const auto& nic : topology_.nics) {
      IdSet ranks;
      for (const auto& rank : placement_.ranks)
        if (rank.nic == nic.name) ranks.insert(rank.local_rank);
      Word word{.spans = {{nic.name}, {ranks_in_brackets(ranks)}}};
      devices_[home_of(nic.cpus, nic.numa)].push_back({nic.pci, bridge_of(nic), std::move(word)});
    }
  }

  template <typename Kind>
  static std::string bridge_of(const Kind& device) {
    if (!device.pci_path.empty()) return device.pci_path.substr(0, device.pci_path.find('/'));
    return device.pci.empty() ? "" : device.pci.substr(0, device.pci.find_last_of(':'));
  }

  void add_devices(const Home& home, std::vector<Branch>& to) {
    // A damaged file may list one L3 in two packages: its devices go under the first.
    auto found = devices_.extract(home);
    if (found.empty()) return;
    std::map<std::string, std::vector<Device>> by_bridge;
    for (auto& device : found.mapped()) by_bridge[device.bridge].push_back(std::move(device));
    for (auto& [bridge, devices] : by_bridge) {
      std::ranges::stable_sort(devices, {}, &Device::pci);
      Branch branch;
      branch.words.push_back(plain(bridge.empty() ? "no PCI" : "PCI " + bridge));
      for (auto& device : devices) {
        device.word.spans.front().text.insert(0, " ");
        branch.words.push_back(std::move(device.word));
      }
      to.push_back(std::move(branch));
    }
  }

  // ---- the tree

  Branch package_branch(int package, const IdSet& cpus) {
    Branch branch{
        .words = {plain(package < 0 ? "package unknown" : fmt::format("package {}", package))}};
    IdSet left = cpus;
    for (const auto& node : topology_.numa) {
      if (!node.cpus.intersects(cpus)) continue;
      branch.below.push_back(numa_branch(node, node.cpus & cpus));
      left -= node.cpus;
    }
    if (!left.empty()) {
      branch.below.push_back({.words = {plain("no NUMA ")}});
      add_cores(left, branch.below.back().words);
    }
    add_devices({'p', package}, branch.below);
    return branch;
  }

  Branch numa_branch(const NumaNode& node, const IdSet& cpus) {
    const bool is_new = !shown_.contains(node.index);
    shown_.insert(node.index);
    Branch branch{.words = {plain(fmt::format("NUMA {:<3} {:>8}{} ", node.index,
                                              is_new ? size_text(node.memory_bytes) : "more of",
                                              node.kind == "dram" ? "" : " " + node.kind))}};
    // A cache gets its own line only if a device is attached to it.
    const bool by_cache = std::ranges::any_of(l3s_, [&](const auto& l3) {
      return l3.second.intersects(cpus) && devices_.contains({'l', l3.first});
    });
    if (!by_cache) {
      add_cores(cpus, branch.words);
    } else {
      IdSet left = cpus;
      for (const auto& [l3, part] : l3s_) {
        if (!part.intersects(cpus)) continue;
        Branch cache{.words = {plain(fmt::format("L3 {:<3}", l3))}};
        add_cores(part & cpus, cache.words);
        add_devices({'l', l3}, cache.below);
        branch.below.push_back(std::move(cache));
        left -= part;
      }
      if (!left.empty()) {
        branch.below.push_back({.words = {plain("no L3 ")}});
        add_cores(left, branch.below.back().words);
      }
    }
    if (is_new) add_devices({'n', node.index}, branch.below);
    return branch;
  }

  // There can be dozens of GPU memory and HBM nodes: one line for all of a kind.
  void add_memory_without_cpus(std::vector<Branch>& to) {
    std::map<std::pair<std::string, std::uint64_t>, IdSet> alike;
    for (const auto& node : topology_.numa)
      if (!shown_.contains(node.index)) alike[{node.kind, node.memory_bytes}].insert(node.index);
    for (const auto& [what, nodes] : alike)
      to.push_back({.words = {plain("NUMA " + to_list(nodes)),
                              plain(fmt::format("{} {}{},", size_text(what.second), what.first,
                                                nodes.size() > 1 ? " each" : "")),
                              plain("no CPUs")}});
  }

  const Topology& topology_;
  const Placement& placement_;
  IdSet cpus_;
  std::map<int, IdSet> packages_;
  std::map<int, IdSet> l3s_;
  std::map<Home, std::vector<Device>> devices_;
  IdSet shown_;
  std::string seen_;
};

Words legend(const Drawing& drawing, const Placement& placement) {
  Words words = {};
  if (!placement.ranks.empty()) {
    const auto last = static_cast<int>(placement.ranks.size()) - 1;
    if (last == 0)
      words.push_back(plain("0 cores of rank 0;"));
    else if (last < most_marks)
      words.push_back(plain(fmt::format("0-{} cores of ranks 0-{};", mark_of(last), last)));
    else
      words.push_back(plain(fmt::format("0-Z cores of ranks 0-{}, from 0 again after Z;", last)));
  }
  if (drawing.has('*')) words.push_back(plain("* several ranks';"));
  if (drawing.has('.')) words.push_back(plain(". no rank's;"));
  if (drawing.has('x')) words.push_back(plain("x not allowed;"));
  if (!placement.ranks.empty()) words.push_back(plain("[] ranks of a GPU or NIC"));
  return words;
}

}  // namespace

std::string draw_node(const Topology& topology, const Placement& placement, int columns,
                      bool color) {
  constexpr int narrowest = 40;
  Pen pen(std::max(columns, narrowest), color);
  Drawing drawing(topology, placement);
  pen.tree(drawing.branches(), "  ");
  const auto words = legend(drawing, placement);
  if (!words.empty()) pen.flow("  ", "  ", words);
  return pen.take();
}

}  // namespace dllaunch
