#include "launcher/network/network_draft.hpp"

#include <algorithm>
#include <utility>

#include "launcher/slurm/host_list.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_wrong_lists = 64;

}  // namespace

void NetworkDraft::add(std::string_view name, std::string_view children, std::string_view nodes) {
  auto parts = expanded(name, children);
  auto hosts = expanded(name, nodes);
  units_.push_back(
      {.name = plain_name(name), .children = std::move(parts), .nodes = std::move(hosts)});
}

std::vector<std::string> NetworkDraft::expanded(std::string_view unit, std::string_view hosts) {
  if (names_ > max_hosts) return {};
  auto names = expand_hosts(hosts);
  if (!names) {
    network_.warnings.push_back(plain_name(unit) + ": " + plain_name(names.error().what));
    names_ += max_hosts / most_wrong_lists;  // it may have cost as much as a long one
    return {};
  }
  names_ += names->size();
  for (auto& name : *names) name = plain_name(name);
  return *std::move(names);
}

Network NetworkDraft::finished() && {
  if (names_ <= max_hosts) return assemble_network(std::move(network_), units_);
  network_.warnings.emplace_back(
      "the description is ignored: more nodes than any cluster has, or too many wrong lists");
  return {.kind = {}, .source = network_.source, .warnings = std::move(network_.warnings)};
}

std::string plain_name(std::string_view text) {
  std::string name(text);
  std::erase_if(name, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
  return name;
}

}  // namespace dllaunch
