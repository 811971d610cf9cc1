// The names of Open MPI's shared memory: needed while ranks find each other, litter afterwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The files of Open MPI's shared-memory transport (vader_segment.*, sm_segment.*) in a text like
/// /proc/self/maps: those of this job on this node, its own and its peers'. Each once; none whose
/// name is gone already.
std::vector<std::string> mapped_segments(std::string_view maps);

/// Collective, right after MPI_Init: where every rank of the job has mapped the segments of its
/// node's `local_ranks` ranks, each removes the name of its own. A rank that is killed leaves
/// nothing then, whoever started it. Returns the name; empty: it stays.
std::string forget_segment_name(int local_rank, int local_ranks);

/// Right before MPI_Finalize, which complains of a name that is not there to remove.
void restore_segment_name(const std::string& path);

}  // namespace dllaunch
