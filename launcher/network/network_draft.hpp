// Collects the lines of a description of a network, with host lists expanded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/network/assemble_network.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

class NetworkDraft {
 public:
  explicit NetworkDraft(Network network) : network_(std::move(network)) {}

  /// Adds a unit. `children` and `nodes` are host lists; a wrong one is left out with a warning.
  void add(std::string_view name, std::string_view children, std::string_view nodes);
  void add(DescribedUnit unit) { units_.push_back(std::move(unit)); }

  /// A host list, in the order written; empty with a warning if it is wrong.
  std::vector<std::string> expanded(std::string_view unit, std::string_view hosts);

  Network& network() { return network_; }
  std::vector<DescribedUnit>& units() { return units_; }

  /// No network, with a warning, if all lists together have more than max_hosts names.
  Network finished() &&;

 private:
  Network network_;
  std::vector<DescribedUnit> units_;
  std::size_t names_ = 0;
};

/// Of the description itself, a control character or a line break cannot be printed: removed.
std::string plain_name(std::string_view text);

}  // namespace dllaunch
