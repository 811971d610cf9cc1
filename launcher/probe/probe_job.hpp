// The job script of `dllaunch probe` and its output. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// A partition with nodes of a type.
struct ProbePlace {
  std::string partition = {};
  std::vector<std::string> others = {};  // its other hosts, which this job must avoid
};

/// A node type and the partitions to try, in order.
struct ProbeTarget {
  NodeType type = {};                   // with all its hosts
  std::vector<ProbePlace> places = {};  // never empty
};

/// The kinds of node of one partition, or of all that take jobs, each once.
/// unsatisfiable: no such partition, or none with a node.
Result<std::vector<ProbeTarget>> probe_targets(const SlurmFacts& slurm,
                                               const std::string& partition);

/// Options that sites require of every job, as for sbatch; empty: unset.
struct ProbeOptions {
  std::string account = {};
  std::string qos = {};
  std::string reservation = {};
};

/// A whole node for two minutes at most, with its GPUs, for `program` probe --capture. `output` is
/// a path without backslashes.
std::string render_probe_script(const ProbeTarget& target, const ProbePlace& place,
                                const ProbeOptions& options, const std::string& program,
                                const std::string& output);

/// What that job prints: the node as it is seen from inside, `type`, `cluster`, `partitions` and
/// `time` left to the caller; and hwloc's XML.
struct Capture {
  ProbedNode node = {};
  std::string xml = {};
};

/// One line that is found again among whatever else a site prints into a job's output.
std::string render_capture(const Capture& capture);
/// unavailable: missing or incomplete. bad_request: damaged, or from a newer dllaunch.
Result<Capture> find_capture(std::string_view output);

}  // namespace dllaunch
