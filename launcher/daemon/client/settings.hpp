// The daemon's settings, given at its start.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

struct DaemonSettings {
  bool foreground = false;
  int port = -1;               // on 127.0.0.1; 0: any free port; -1: unix socket only
  double interval_s = 10;      // between queries of Slurm's queue while a run is in it
  double settle_s = 20;        // after a crash during a submission
  int most_jobs = 100;         // in the queue at once; at the limit nothing is submitted
  int most_submissions = 100;  // per run, by the daemon
  double most_gpu_hours = 0;   // of all runs within 30 days; 0: unlimited
  std::string notify = {};     // shell command; empty: no notification
};

/// By which `dllaunch daemon start` hands them to the daemon's own program.
constexpr const char* settings_variable = "DLLAUNCH_DAEMON_SETTINGS";

/// One line of JSON.
std::string settings_text(const DaemonSettings& settings);
/// bad_request: no such text.
Result<DaemonSettings> parse_settings(const std::string& text);

/// "127.0.0.1:8080" -> 8080. bad_request: another address (whoever reaches it rules the user's
/// jobs: it stays on this machine), or no port.
Result<int> parse_listen(const std::string& text);

}  // namespace dllaunch
