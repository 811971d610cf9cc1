// The finding of a presubmit check.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launcher/base/explanation.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// What was checked. queue_checks() explains each, in this order.
enum class QueueCheck {
  plan,
  partition,
  nodes,
  gpus,
  time,
  account,
  reservation,
  placement,
  command,
  trainer,
  data,
  stage,
  environment,
  container,
  modules,
  run_dir,
  sbatch
};

std::span<const Explanation> queue_checks();
/// Its id: "run-dir".
std::string_view to_string(QueueCheck check);

struct CheckFinding {
  Error problem = {};          // what was found, and what to do next
  bool fatal = true;           // Slurm would refuse the job, or it would fail at start
  bool of_node_count = false;  // another number of nodes would fix it
  QueueCheck check = QueueCheck::plan;
};

using CheckFindings = std::vector<CheckFinding>;

/// Calls `add`, and marks what it adds as found by `check`.
template <typename Add>
void add_as(QueueCheck check, CheckFindings& found, Add add) {
  const std::size_t before = found.size();
  add();
  for (std::size_t i = before; i < found.size(); ++i) found[i].check = check;
}

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
