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

/// The variable in which `dllaunch daemon start` passes the settings to dllaunch-daemon.
constexpr const char* settings_variable = "DLLAUNCH_DAEMON_SETTINGS";

/// Returns the settings as one line of JSON.
std::string settings_text(const DaemonSettings& settings);
/// bad_request: invalid settings.
Result<DaemonSettings> parse_settings(const std::string& text);

/// Returns the port, 8080 for "127.0.0.1:8080". bad_request: not a port, or another address. The
/// API controls the user's jobs and is not exposed beyond this machine.
Result<int> parse_listen(const std::string& text);

}  // namespace dllaunch
