#include "launcher/network/slurm_topology.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "launcher/base/split.hpp"
#include "launcher/network/blocks.hpp"
#include "launcher/network/network_draft.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::string_view, 6> first_keys = {
    "switchname", "blockname", "aggregatedblock", "blocksizes", "ringname", "torusname"};

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

/// KEY=VALUE pairs of a line, keys in lower case.
class Line {
 public:
  explicit Line(std::string_view text) {
    text = text.substr(0, text.find('#'));
    constexpr std::string_view blanks = " \t\r";
    for (std::size_t at = 0; (at = text.find_first_not_of(blanks, at)) != text.npos;) {
      const auto end = std::min(text.find_first_of(blanks, at), text.size());
      const auto word = text.substr(at, end - at);
      const auto equals = word.find('=');
      if (equals != word.npos) {
        auto value = word.substr(equals + 1);
        if (value.size() > 1 && value.front() == '"' && value.back() == '"')
          value = value.substr(1, value.size() - 2);
        pairs_.emplace_back(in_lower_case(word.substr(0, equals)), value);
      }
      at = end;
    }
  }

  bool empty() const { return pairs_.empty(); }
  bool begins(std::string_view key) const { return !empty() && pairs_.front().first == key; }
  std::string_view value(std::string_view key) const {
    const auto found =
        std::ranges::find(pairs_, key, &std::pair<std::string, std::string_view>::first);
    return found == pairs_.end() ? std::string_view() : found->second;
  }
  int number(std::string_view key) const {
    const auto text = value(key);
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

 private:
  std::vector<std::pair<std::string, std::string_view>> pairs_;
};

/// Lines whose last character is a backslash go on in the next.
std::string joined(std::string_view text) {
  std::string whole(text);
  std::erase(whole, '\r');
  for (std::size_t at = 0; (at = whole.find("\\\n", at)) != whole.npos;)
    whole.replace(at, 2, 2, ' ');
  return whole;
}

void read_switches(const std::vector<Line>& lines, NetworkDraft& draft) {
  draft.network().kind = "tree";
  draft.network().levels = {"leaf switches", "switches above"};
  for (const Line& line : lines) {
    if (!line.begins("switchname")) continue;
    // scontrol prints the nodes below a switch; in topology.conf it has either nodes or switches.
    const bool above = line.number("level") > 0 && !line.value("switches").empty();
    draft.add(line.value("switchname"), line.value("switches"), above ? "" : line.value("nodes"));
  }
}

void read_blocks(const std::vector<Line>& lines, NetworkDraft& draft) {
  Blocks blocks;
  for (const Line& line : lines) {
    if (line.begins("blockname")) {
      blocks.base.push_back({line.value("blockname"), line.value("nodes")});
      blocks.base_size = std::max(blocks.base_size, line.number("blocksize"));
    } else if (line.begins("aggregatedblock")) {
      blocks.aggregated.push_back({line.value("aggregatedblock"), line.number("blocksize")});
    } else if (line.begins("blocksizes")) {
      for (const auto size : split_at(line.value("blocksizes"), ',')) {
        int number = 0;
        std::from_chars(size.data(), size.data() + size.size(), number);
        blocks.sizes.push_back(number);
      }
    }
  }
  add_blocks(blocks, draft);
}

void read_rings(const std::vector<Line>& lines, NetworkDraft& draft) {
  for (const Line& line : lines) {
    if (line.begins("ringname")) add_ring(line.value("ringname"), line.value("nodes"), draft);
  }
}

/// Without the coordinates of the nodes, which scontrol does not print.
void read_toruses(const std::vector<Line>& lines, NetworkDraft& draft) {
  draft.network().kind = "torus";
  draft.network().levels = {"tori"};
  for (const Line& line : lines) {
    if (line.begins("torusname") && !line.value("nodes").empty())
      draft.add(line.value("torusname"), "", line.value("nodes"));
  }
}

}  // namespace

bool is_slurm_topology(std::string_view text) {
  return std::ranges::any_of(split_lines(text), [](std::string_view line) {
    const auto start = line.find_first_not_of(" \t");
    if (start == line.npos) return false;
    const auto equals = line.find('=', start);
    return equals != line.npos && equals - start < 20 &&
           std::ranges::find(first_keys, in_lower_case(line.substr(start, equals - start))) !=
               first_keys.end();
  });
}

Network read_slurm_topology(std::string_view text, std::string source) {
  const auto whole = joined(text);
  std::vector<Line> lines;
  for (const auto line : split_lines(whole)) {
    Line pairs(line);
    if (!pairs.empty()) lines.push_back(std::move(pairs));
  }
  const auto have = [&lines](std::string_view key) {
    return std::ranges::any_of(lines, [key](const Line& line) { return line.begins(key); });
  };
  NetworkDraft draft({.source = std::move(source)});
  if (have("blockname")) {
    read_blocks(lines, draft);
  } else if (have("ringname")) {
    read_rings(lines, draft);
  } else if (have("torusname")) {
    read_toruses(lines, draft);
  } else {
    read_switches(lines, draft);
  }
  return std::move(draft).finished();
}

}  // namespace dllaunch
