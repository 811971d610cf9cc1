// The measured links as a table, as JSON, and as a check of each node in a pre-flight's report.
// Pure.
#pragma once

#include <string>

#include "launcher/links/link_history.hpp"
#include "launcher/links/measure_links.hpp"
#include "launcher/preflight/report.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Adds the check "links" to every node that was measured. It fails on a slow host, on one that is
/// silent or cut off, on one of a slow pair (not the job's first host), and on a group that is slow
/// to the others. All but groups, of which either may be at fault, are added to `exclude`.
void add_links(PreflightReport& report, const LinkMeasurement& measured,
               const LinkBaseline& baseline);

/// A line for the usual link, and for each that is slow.
std::string render_links(const LinkMeasurement& measured, const LinkBaseline& baseline);

/// {"hosts", "pairs", "missed", "seconds", "usual": {"gbit_per_s", "us"}, "under_load": {...},
/// "slow":
/// [{"kind": "host|pair|group", "hosts": [], "with": [], "sends": {"gbit_per_s", "us", "why"} |
/// null, "receives"}], "unsure": [], "silent": [], "cut_off": [], "baseline": {"measurements",
/// "gbit_per_s", "gbit_per_s_mad", "us", "us_mad", "slow", "late"}, "links": [{"from", "to",
/// "gbit_per_s", "us", "why"}]}; "links": the best measurement of each direction
Json to_json(const LinkMeasurement& measured, const LinkBaseline& baseline);

}  // namespace dllaunch
