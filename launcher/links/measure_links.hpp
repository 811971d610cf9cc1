// Measures the links between the hosts of a job, as an ordinary user, within a few seconds.
//
// One srun starts a process on each host (--overlap, beside running steps). This process tells all
// of them, through srun's standard input, which pairs to measure next, until next_order() has no
// question left or time is up.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "launcher/links/link_verdict.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

struct LinkRequest {
  std::string job_id = {};
  std::vector<std::string> hosts = {};  // at least two
  std::string host_suffix = {};         // appended to a name to call it
  /// From the call to the verdict.
  std::chrono::milliseconds limit{10'000};
};

struct LinkMeasurement {
  std::vector<std::string> hosts = {};  // what the indices of survey and verdict mean
  LinkSurvey survey = {};
  LinkVerdict verdict = {};
  /// The first line of srun or of a host's process that is no reply: why one may be silent.
  std::string complaint = {};
  double seconds = 0;
};

/// unavailable: srun cannot start or ends too early, fewer than two hosts answer, or all fall
/// silent; includes srun's message.
/// bad_request: fewer than two hosts, or no job.
Result<LinkMeasurement> measure_links(System& system, const LinkRequest& request);

}  // namespace dllaunch
