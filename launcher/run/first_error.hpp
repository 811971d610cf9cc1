// Finds the first error in everything the ranks wrote.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/run/failure.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// How strongly a line points to the cause.
enum class ErrorWeight {
  echo,     // a rank that lost its peers: "Connection reset by peer"
  mention,  // contains the word error
  report,   // last line of a traceback, an abort, an error of CUDA, NCCL or MPI, a crash
};

struct ErrorLine {
  ErrorWeight weight = ErrorWeight::mention;
  std::string line;
};

/// Returns the error that ended the log's writer: the last report (earlier ones were survived, or
/// belong to an earlier run in the same file), else the first mention after it. nullopt if no line
/// looks like an error.
std::optional<ErrorLine> error_in_log(std::string_view log);

struct FirstError {
  int rank = -1;  // -1: no rank; the batch script's own output
  std::string node = {};
  std::string line = {};
  std::string log = {};  // file name
};

/// Path -> bytes.
using LogSizes = std::map<std::string, std::uintmax_t>;
/// Returns the present sizes of the ranks' logs.
LogSizes log_sizes(const RunDir& run);

/// Returns the first error among all ranks. Reports come before mentions, mentions before echoes;
/// then the rank that srun or mpirun saw die; then the log that was written to first and no more.
/// Logs untouched since `since_s` (Unix seconds) belong to an earlier run, as does their content up
/// to the sizes `before`.
std::optional<FirstError> first_error(const RunDir& run, const DeadRank& dead, double since_s,
                                      const LogSizes& before = {});

/// Returns the exception of a traceback with which a rank's log ends. The rank may have exited with
/// 0 all the same: a shell, or the program, passed over it.
std::optional<FirstError> traceback_at_end(const RunDir& run, double since_s);

/// "rank 3 on n2: ValueError: bad"
std::string describe(const FirstError& error);

/// Returns what to change for this error line; empty: unknown.
std::string advice_for(std::string_view error_line);
/// Returns advice for a dead rank whose logs give no reason.
std::string advice_for(const DeadRank& dead);

}  // namespace dllaunch
