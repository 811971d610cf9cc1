// One line of a rank's log: whose it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// Who writes a log, from its name in RUN/out.
struct LogSource {
  int rank = -1;          // -1: several ranks, each line labelled with its own
  std::string node = {};  // empty: not in the name
};

/// "rank-0003-n1.log", or "n1.log" where one log holds a node's ranks. Nothing for a log that is
/// no rank's ("mpirun.log", "dllaunch.log") or another file.
std::optional<LogSource> log_source(std::string_view file_name);

struct LabelledLine {
  int rank = -1;  // -1: no label
  std::string_view text;
};

/// "  3: text" of srun --label, "[1,3]<stdout>:text" of mpirun --tag-output.
LabelledLine split_label(std::string_view line);

}  // namespace dllaunch
