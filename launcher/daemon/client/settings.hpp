// What the user asked of the daemon when it was started.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

struct DaemonSettings {
  bool foreground = false;
  int port = -1;               // of 127.0.0.1; 0: any that is free; -1: the unix socket alone
  double interval_s = 10;      // between two looks at Slurm's queue while a run is in it
  double settle_s = 20;        // after a death in the middle of a submission
  int most_jobs = 100;         // in the queue at once, else nothing is submitted
  int most_submissions = 100;  // of one run by the daemon
  double most_gpu_hours = 0;   // of all runs within 30 days; 0: as many as there are
  std::string notify = {};     // a shell command; empty: nobody is told
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
