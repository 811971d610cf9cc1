// Probes: submits one small job per node type, follows each to its end or a deadline, and keeps the
// recorded topology.
// It makes no plan from the records and reserves nothing beyond these jobs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/cluster/probe_cache.hpp"
#include "launcher/os/system.hpp"
#include "launcher/probe/probe_job.hpp"

namespace dllaunch {

struct ProbeSettings {
  ProbeOptions options = {};
  std::string program = {};  // this dllaunch, by its path on the nodes
  std::string folder = {};   // for scripts and output; shared with the nodes
  std::chrono::milliseconds within = std::chrono::minutes(10);
  std::chrono::milliseconds first_look = std::chrono::milliseconds(500);
  std::chrono::milliseconds longest_look = std::chrono::seconds(5);
  // A network file system may show a finished job's output only after a while.
  std::chrono::milliseconds output_patience = std::chrono::seconds(60);
};

struct KeptProbe {
  ProbedNode node = {};
  ProbeFiles files = {};
};

struct MissedProbe {
  ProbeTarget target = {};
  std::string why = {};
};

struct ProbeOutcome {
  std::vector<KeptProbe> kept = {};
  std::vector<MissedProbe> missed = {};
  int stopped_by = 0;  // the signal that ended it, 0: none
};

/// Submits all jobs at once, reports their progress, and cancels the rest at a signal or the
/// deadline. Failures are reported as missed, never as an error.
ProbeOutcome execute_probes(const SlurmFacts& slurm, const std::vector<ProbeTarget>& targets,
                            System& system, const ProbeSettings& settings);

}  // namespace dllaunch
