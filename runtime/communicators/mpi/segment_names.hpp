// Removes the file names of Open MPI's shared memory once the ranks have mapped it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Returns the files of Open MPI's shared-memory transport (vader_segment.*, sm_segment.*) in a
/// text like /proc/self/maps: those of this job on this node, its own and its peers'. Each appears
/// once; names already removed do not.
std::vector<std::string> mapped_segments(std::string_view maps);

/// Collective, right after MPI_Init. If every rank of the job has mapped the segments of its node's
/// `local_ranks` ranks, each removes its own segment's name, so a killed rank leaves no file
/// behind. Returns the name; empty if it stays.
std::string forget_segment_name(int local_rank, int local_ranks);

/// Call right before MPI_Finalize, which warns if the name is missing.
void restore_segment_name(const std::string& path);

}  // namespace dllaunch
