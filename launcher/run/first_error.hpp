// The line that says why: of everything the ranks wrote, the error that came first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/run/failure.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// How much a line says about the cause.
enum class ErrorWeight {
  echo,     // a rank that lost its peers: "Connection reset by peer"
  mention,  // the word error, somewhere
  report,   // a traceback's last line, an abort, an error of CUDA, NCCL, MPI, a crash
};

struct ErrorLine {
  ErrorWeight weight = ErrorWeight::mention;
  std::string line;
};

/// What ended the writer of one log: the last report in it (what came before was survived, or is of
/// an earlier run that wrote into the same file), else the first mention after the last report's
/// place. Nothing where no line looks like an error.
std::optional<ErrorLine> error_in_log(std::string_view log);

struct FirstError {
  int rank = -1;  // -1: nobody's, the batch script's own words
  std::string node = {};
  std::string line = {};
  std::string log = {};  // the file
};

/// By path, in bytes.
using LogSizes = std::map<std::string, std::uintmax_t>;
/// Of the ranks' logs as they are now.
LogSizes log_sizes(const RunDir& run);

/// Among all ranks: a report before a mention before an echo; then the rank that srun or mpirun saw
/// die; then the log that was written to first and no more. Logs untouched since `since_s` (Unix
/// seconds) are of an earlier run, and so is what stood in them `before`.
std::optional<FirstError> first_error(const RunDir& run, const DeadRank& dead, double since_s,
                                      const LogSizes& before = {});

/// "rank 3 on n2: ValueError: bad"
std::string describe(const FirstError& error);

/// What to change when a line says this; empty: nobody knows.
std::string advice_for(std::string_view error_line);
/// The same for a rank that died, where no line says why.
std::string advice_for(const DeadRank& dead);

}  // namespace dllaunch
