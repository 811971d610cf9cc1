#include "launcher/run/run_ownership.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "launcher/base/split.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/run/events.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/slurm/allocation.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// Returns 2 for "2"; 0 if it is not a number, as for a job never requeued.
int restarts_of(const std::string& text) {
  return std::max(0, parse_number<int>(text).value_or(0));
}

/// Returns the highest token near the end of events.jsonl; invalid numbers count as 0.
std::int64_t newest_fencing_token(const RunDir& run) {
  constexpr std::size_t most_bytes = 65536;
  const std::string text = file_end(run.events(), most_bytes);
  std::int64_t newest = 0;
  for (const auto line : split_lines(text)) {
    const auto event = parse_event(line);
    const auto fencing_token =
        event ? parse_fencing_token(std::to_string(fencing_token_of(*event))) : std::nullopt;
    newest = std::max(newest, fencing_token.value_or(0));
  }
  return newest;
}

}  // namespace

Result<RunOwnership> take_run_ownership(const RunDir& run, System& system) {
  const RunOwner holder{
      .host = system.host_name(),
      .pid = getpid(),
      .job = own_job_id(system),
      .restart = restarts_of(system.environment("SLURM_RESTART_COUNT").value_or("")),
      .since = unix_seconds()};
  return RunOwnership::take(run.path, holder, newest_fencing_token(run));
}

}  // namespace dllaunch
