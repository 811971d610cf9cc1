// What killed a job: read from what mpirun and srun say, and from the ranks' own logs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The rank that went first. Exactly one of signal and exit_code is not 0.
struct DeadRank {
  int rank = -1;          // -1: nobody said
  std::string host = {};  // empty: nobody said
  int signal = 0;
  int exit_code = 0;
  bool out_of_memory = false;
};

/// From Open MPI's words, 4.x and 5.x. Nothing when it names no rank.
std::optional<DeadRank> dead_rank_from_mpirun(std::string_view text);

/// From srun's "srun: error: n1: task 1: Killed" lines. The first is the cause, but for echoes:
/// what srun terminated because of it ("Terminated"), and a rank that wrote to a peer that was gone
/// ("Broken pipe"), which srun may even tell first. Those count where there is no other.
std::optional<DeadRank> dead_rank_from_srun(std::string_view text);

/// "rank 1 on vm was killed by signal 9 (SIGKILL)", "rank 0 exited with code 3".
std::string describe(const DeadRank& dead);

/// "SIGKILL"; "signal 64" for one without a name.
std::string signal_name(int signal);
/// The number of "Killed", "Segmentation fault (core dumped)", as libc words them; 0: none.
int signal_in_output(std::string_view output);

/// Whether a log line looks like the report of an error.
bool is_error_line(std::string_view line);

/// What a reader wants of a log: its last error lines, then its last lines; in the log's order,
/// at most `most`, each fit for a terminal.
std::vector<std::string> log_excerpt(std::string_view log, std::size_t most);

/// The exit code of `dllaunch run` for that of mpirun or of a job: 0, 2, 3 and 93 pass, any other
/// is 1.
int exit_code_of_job(int code);

}  // namespace dllaunch
