// The whole queue as Slurm's scheduler sees it, and what `sbatch --test-only` answers.
// client.hpp asks for the jobs of one user.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The argument of `squeue --noheader --format=`.
constexpr std::string_view queue_rows_format = "%i|%T|%P|%D|%l|%S|%N|%r";

/// A job of anyone that holds nodes or waits for some.
struct QueueRow {
  bool waits = false;
  std::vector<std::string> partitions = {};
  int nodes = 1;
  int tasks = 1;                        // of an array, those that may start at the same time
  std::optional<double> limit_s = {};   // nullopt: none
  std::optional<double> start_s = {};   // Unix seconds; while it waits, as planned by Slurm
  std::vector<std::string> hosts = {};  // that it holds
};

/// Skips jobs that do not take part: held, or waiting for other jobs; and lines that are no job.
std::vector<QueueRow> parse_queue_rows(std::string_view text);

/// The hosts of `sinfo --Node --format=%N|%T|%R|%p|%M` on which jobs run, each once.
std::vector<std::string> parse_busy_hosts(std::string_view text);

/// The tier and the preemption of each partition in the same lines: "10|REQUEUE".
std::map<std::string, std::string> parse_precedence(std::string_view text);

/// The queue at one moment.
struct QueueView {
  std::vector<QueueRow> rows = {};     // by priority, the highest first
  std::vector<std::string> busy = {};  // hosts on which jobs run
  /// Of partitions. Where it differs, jobs of one start before, or in place of, those of another.
  std::map<std::string, std::string> precedence = {};
  /// Jobs run on more hosts than the rows tell of: Slurm hides jobs of other users (PrivateData).
  bool hides_jobs() const;
};

/// Two calls, to squeue and sinfo, which share `limit`. unavailable, timeout: no answer.
Result<QueueView> whole_queue(System& system, std::chrono::milliseconds limit);

/// "sbatch: Job 12 to start at 2026-11-26T20:00:00 using 8 processors on nodes n[1-2] in partition
/// debug"; the partition is told from 20.02 on.
struct StartEstimate {
  double start_s = 0;  // Unix seconds; Slurm prints this machine's local time
  std::string nodes = {};
  std::string partition = {};
};
/// nullopt: another text, such as "allocation failure: ...".
std::optional<StartEstimate> parse_start_estimate(std::string_view message);

}  // namespace dllaunch
