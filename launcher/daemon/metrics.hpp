// The daemon's metrics in the Prometheus text format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/daemon/run_watch.hpp"
#include "launcher/daemon/store.hpp"

namespace dllaunch {

struct ProcessFigures {
  double uptime_s = 0;
  double cpu_s = 0;  // of the daemon and the commands it ran
  std::uint64_t resident_bytes = 0;
  int open_files = 0;
};
/// Returns the figures of this process.
ProcessFigures process_figures(double began_s, double now_s);

/// Pure.
std::string render_metrics(const Snapshot& snapshot, const std::vector<Store::Count>& counts,
                           const ProcessFigures& process);

/// Escapes backslash, quote and newline for a label value.
std::string label_text(std::string_view value);

}  // namespace dllaunch
