// What Slurm's commands print with --json, as the same values that scontrol_parser.hpp reads. Pure.
//
// Slurm 22.05 to 25.x: a number may be plain or {"set", "infinite", "number"}, a state a word or a
// list of words, a list a text with commas; a field that is missing or of another type keeps its
// default, one that is new is passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Everything found in one or several documents: sinfo, squeue, sacct, scontrol show partition,
/// node, reservation, job.
struct SlurmReport {
  std::string version;  // of Slurm
  std::string cluster;
  std::vector<SlurmPartition> partitions;
  std::vector<SlurmNode> nodes;
  std::vector<SlurmReservation> reservations;
  std::vector<SlurmJob> jobs;
};

void add_slurm_json(const Json& document, SlurmReport& report);
/// Lines before the document (a site's wrapper may print some) are passed over; nothing is in the
/// report of text that is no JSON.
SlurmReport parse_slurm_json(std::string_view text);

/// The partitions known, and those that only the nodes know of (`sinfo --json` of 22.05 shows no
/// partitions): these are up and without limits.
std::vector<SlurmPartition> with_every_partition(std::vector<SlurmPartition> partitions,
                                                 const std::vector<SlurmNode>& nodes);

/// As squeue would say it in a line.
QueuedJob as_queued(const SlurmJob& job);

}  // namespace dllaunch
