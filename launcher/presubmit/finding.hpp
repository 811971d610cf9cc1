// What a check before the queue found.
#pragma once

#include <string>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

struct CheckFinding {
  Error problem = {};  // what was seen, and what to do next
  bool fatal = true;   // Slurm would refuse the job, or it would fail as soon as it starts
};

using CheckFindings = std::vector<CheckFinding>;

inline void add_error(CheckFindings& found, ErrorKind kind, std::string what, std::string hint) {
  found.push_back({.problem = {kind, std::move(what), std::move(hint)}, .fatal = true});
}

inline void add_warning(CheckFindings& found, std::string what, std::string hint) {
  found.push_back(
      {.problem = {ErrorKind::bad_request, std::move(what), std::move(hint)}, .fatal = false});
}

}  // namespace dllaunch
