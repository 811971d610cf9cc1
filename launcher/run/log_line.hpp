// Attributes log lines to ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// The writer of a log, from its name in RUN/out.
struct LogSource {
  int rank = -1;          // -1: several ranks; each line carries its own label
  std::string node = {};  // empty: not part of the name
};

/// Parses "rank-0003-n1.log", or "n1.log" for a log of a node's ranks. nullopt for other files,
/// such as "mpirun.log", "spawn.log" or "dllaunch.log".
std::optional<LogSource> log_source(std::string_view file_name);

struct LabelledLine {
  int rank = -1;  // -1: no label
  std::string_view text;
};

/// Whether srun within a rank says that it waits for the job's own resources, which the ranks hold:
/// "srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)".
bool waits_for_a_step(std::string_view line);
/// Follows "srun on n2": what to do about it.
inline constexpr std::string_view overlap_words =
    "waits for CPUs that the ranks of the job hold: srun --overlap starts a step beside them";

/// Parses "  3: text" of srun --label or "[1,3]<stdout>:text" of mpirun --tag-output.
LabelledLine split_label(std::string_view line);

}  // namespace dllaunch
