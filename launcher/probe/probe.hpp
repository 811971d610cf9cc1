// One tiny job a node type: submitted, followed to its end or a deadline, its findings kept.
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
  std::string program = {};  // this dllaunch, as the nodes see it
  std::string folder = {};   // for scripts and outputs; the nodes see it too
  std::chrono::milliseconds within = std::chrono::minutes(10);
  std::chrono::milliseconds first_look = std::chrono::milliseconds(500);
  std::chrono::milliseconds longest_look = std::chrono::seconds(5);
  // A network file system may show the output of a job that is over only after a while.
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

/// Submits all jobs at once, tells where each one is, and cancels what is left at a signal or when
/// the time is up. What fails is told as missed, never as an error.
ProbeOutcome execute_probes(const SlurmFacts& slurm, const std::vector<ProbeTarget>& targets,
                            System& system, const ProbeSettings& settings);

}  // namespace dllaunch
