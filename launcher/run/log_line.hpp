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

/// Parses "  3: text" of srun --label or "[1,3]<stdout>:text" of mpirun --tag-output.
LabelledLine split_label(std::string_view line);

}  // namespace dllaunch
