#include "launcher/slurm/requeue.hpp"

#include <algorithm>

#include "support/awake_clock.hpp"

namespace dllaunch {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<Ok> requeue(System& system, const JobAllocation& allocation, const RequeueOptions& how) {
  constexpr milliseconds longest(15'000);
  constexpr seconds reserve(3);
  constexpr seconds slurm_asks_nodes(150);
  // Slurm ends the job itself when it gives up a node. Its TERM is not a stop request, and Slurm
  // soon reports why.
  constexpr seconds slurms_own(5);
  const auto began = AwakeClock::now();
  const auto give_up_at = began + std::chrono::minutes(10);
  std::optional<AwakeClock::time_point> told_at;
  for (milliseconds pause(1000);; pause = std::min(2 * pause, longest)) {
    const std::chrono::duration<double> left(how.seconds_left().value_or(1e9));
    const auto now = AwakeClock::now();
    const bool in_time = now + pause < give_up_at && left > pause + reserve;
    const bool may_be_new = now - began < slurm_asks_nodes;
    const auto done =
        requeue(system, allocation,
                {.wait = in_time, .silent = may_be_new ? how.silent : std::vector<std::string>()});
    if (done && !how.exclude.fresh.empty()) {
      const auto excluded = exclude_nodes(system, allocation, how.exclude);
      if (!excluded) system.log("dllaunch: " + excluded.error().what + "\n");
    }
    if (done) return Ok{};
    const auto kind = done.error().kind;
    if (kind == ErrorKind::bad_request) {
      system.log("dllaunch: " + done.error().what + "\n");
      return Ok{};
    }
    if (kind != ErrorKind::timeout || !in_time) return done.error();
    if (how.waits) how.waits(done.error().what);
    if (how.stopped(told_at ? milliseconds(500) : pause) && !told_at) told_at = AwakeClock::now();
    if (told_at && AwakeClock::now() - *told_at > slurms_own) return done.error();
  }
}

}  // namespace dllaunch
