// The finding of a presubmit check.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct CheckFinding {
  Error problem = {};          // what was found, and what to do next
  bool fatal = true;           // Slurm would refuse the job, or it would fail at start
  bool of_node_count = false;  // another number of nodes would fix it
};

using CheckFindings = std::vector<CheckFinding>;

inline void add_error(CheckFindings& found, ErrorKind kind, std::string what, std::string hint) {
  found.push_back({.problem = {kind, std::move(what), std::move(hint)}, .fatal = true});
}

/// Adds a finding: too many nodes, or too few.
inline void add_wrong_node_count(CheckFindings& found, std::string what, std::string hint) {
  add_error(found, ErrorKind::unsatisfiable, std::move(what), std::move(hint));
  found.back().of_node_count = true;
}

inline void add_warning(CheckFindings& found, std::string what, std::string hint) {
  found.push_back(
      {.problem = {ErrorKind::bad_request, std::move(what), std::move(hint)}, .fatal = false});
}

}  // namespace dllaunch
