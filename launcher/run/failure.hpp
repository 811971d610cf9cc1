// What killed a job, from the output of mpirun or srun and the ranks' logs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The rank that died first. Exactly one of signal and exit_code is nonzero.
struct DeadRank {
  int rank = -1;            // -1: unknown
  std::string others = {};  // "0-1" if all of these ended alike, `rank` among them
  std::string host = {};    // empty: unknown
  int signal = 0;
  int exit_code = 0;
  bool out_of_memory = false;
};

/// Returns the rank named by Open MPI 4.x or 5.x; nullopt if none is named.
std::optional<DeadRank> dead_rank_from_mpirun(std::string_view text);

/// Returns the first rank named by lines such as "srun: error: n1: task 1: Killed". Echoes count
/// only if there is nothing else: ranks that srun terminated in response ("Terminated"), and ranks
/// that wrote to a dead peer ("Broken pipe"), which srun may report first.
std::optional<DeadRank> dead_rank_from_srun(std::string_view text);

/// Returns the first rank that srun says was killed by a signal that no peer's end causes (SIGKILL,
/// SIGSEGV, ...), or by a lack of memory. Slurm kills with the same signal what it ends.
std::optional<DeadRank> killed_rank_from_srun(std::string_view text);

/// Returns the rank named by `dllaunch spawn`, in a line "dllaunch: " + describe(); nullopt if none
/// is named.
std::optional<DeadRank> dead_rank_from_spawn(std::string_view text);

/// "rank 1 on vm was killed by signal 9 (SIGKILL)", "rank 0 exited with code 3".
std::string describe(const DeadRank& dead);

/// The same of a rank that was killed by the signal that asks it to save: "rank 0 was killed by
/// USR2, which asks it to save: its program on n1 does not handle it".
std::string describe_unsaved(const DeadRank& dead);

/// Returns "SIGKILL", or "signal 64" for a signal without a name.
std::string signal_name(int signal);
/// Returns the number of "USR2" or "SIGUSR2"; 0: no such signal.
int signal_of_name(std::string_view name);
/// Returns the signal for libc's text: "Killed", "Segmentation fault (core dumped)"; 0: none.
int signal_in_output(std::string_view output);

/// Whether a log line looks like an error.
bool is_error_line(std::string_view line);

/// Returns at most `most` lines of a log, in order: the last error lines, then the last lines. Each
/// is safe to print on a terminal.
std::vector<std::string> log_excerpt(std::string_view log, std::size_t most);

/// Returns the exit code of `dllaunch run` for that of mpirun or a job: 0, 2, 3 and 93 pass
/// through, any other becomes 1.
int exit_code_of_job(int code);

}  // namespace dllaunch
