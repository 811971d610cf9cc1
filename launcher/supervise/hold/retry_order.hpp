// What `dllaunch retry` sends to the supervisor that holds an allocation after an error: one file,
// RUN/.retry/N, where N is the fencing token of the attempt that is held. Whoever creates that name
// first decides how the hold ends: the first of several retries, or the supervisor when the hold
// expires. So the ranks start once, and a late retry is refused. See docs/decisions/0033.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/run/journal.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/supervise/supervised_run.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct RetryOrder {
  bool over = false;                      // the hold ended without a retry; the rest is empty
  std::string by = {};                    // "process 4711 on login1"
  std::string changes = {};               // of the job file, in words; empty: none
  std::vector<std::string> program = {};  // of each rank; empty: as before
  /// Set before the ranks start, besides those of the job's script.
  std::vector<std::pair<std::string, std::string>> variables = {};
  /// Name in the run's directory -> new text: job.yaml, plan.json, train.json.
  std::vector<std::pair<std::string, std::string>> files = {};
};

/// The order in a file's text; nullopt: damaged, or with a file that it must not name.
std::optional<RetryOrder> parse_order(std::string_view text);

/// Ends the hold of that start, which reads the order within a second. unsatisfiable: it has ended,
/// by an order whose giver may have been killed before the supervisor was told; it is told now.
/// unavailable: the directory cannot be written, or is away.
Result<Ok> end_hold(const RunDir& run, std::int64_t fencing_token, const RetryOrder& order);

/// How the hold of that start ended; nullopt: not yet, or unreadable.
std::optional<RetryOrder> end_of_hold(const RunDir& run, std::int64_t fencing_token);

/// Whether that hold has ended, by the length of a file. Other than a name that is not there yet, a
/// network file system does not cache it. Makes what it needs in the run's directory.
bool has_rung(const RunDir& run, std::int64_t fencing_token);

/// Writes the order's files into the run's directory, all or none, and changes the run accordingly:
/// its command, variables and recovery. Returns what the journal is told. bad_request: the
/// directory refuses; nothing has changed.
Result<JournalRetry> take_up(const RetryOrder& order, std::int64_t fencing_token,
                             SupervisedRun& run);

/// The key of plan.json that names the order which changed it.
inline constexpr std::string_view retry_key = "retry";

/// Changes the command and the variables of a run as the order that its plan names did: the job's
/// script, which Slurm or the daemon may start again, knows nothing of it. A plan that `dllaunch
/// run` writes names none.
void follow_retry(System& system, SupervisedRun& run);

}  // namespace dllaunch
