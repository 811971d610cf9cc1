// Parses --json output of Slurm's commands into the values of scontrol_parser.hpp. Pure. Slurm
// 22.05 to 25.x: a number may be plain or {"set", "infinite", "number"}; a state may be a word or a
// list of words; a list may be text with commas. A field that is missing or of another type keeps
// its default; unknown fields are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// The contents of one or several documents of sinfo, squeue, sacct, scontrol show partition, node,
/// reservation, job.
struct SlurmReport {
  std::string version;  // Slurm's
  std::string cluster;
  std::vector<Partition> partitions;
  std::vector<SlurmNode> nodes;
  std::vector<Reservation> reservations;
  std::vector<SlurmJob> jobs;
};

void add_slurm_json(const Json& document, SlurmReport& report);
/// Skips lines before the document (a site's wrapper may print some). The report is empty if the
/// text is not JSON.
SlurmReport parse_slurm_json(std::string_view text);

/// The known partitions, and those that only nodes mention (`sinfo --json` of 22.05 lists none);
/// the latter are up and unlimited.
std::vector<Partition> with_every_partition(std::vector<Partition> partitions,
                                            const std::vector<SlurmNode>& nodes);

/// The job in the form squeue reports it.
QueuedJob as_queued(const SlurmJob& job);

}  // namespace dllaunch
