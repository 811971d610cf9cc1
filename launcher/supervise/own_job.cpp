#include "launcher/supervise/own_job.hpp"

#include <fmt/core.h>

#include <chrono>
#include <string_view>
#include <thread>

namespace dllaunch {

void look_at_own_job(System& system, const JobAllocation& allocation, Attempt& attempt) {
  if (allocation.group.empty()) return;
  constexpr int looks = 12;
  for (int i = 0; i < looks; ++i) {
    const auto record = ask_of_job(system, allocation, std::chrono::seconds(3));
    if (!record || record->restarts > allocation.restarts) return;
    const auto is = [&record](std::string_view state) { return record->state.starts_with(state); };
    if (is("TIMEOUT") || (is("COMPLETING") && record->reason == "TimeLimit")) {
      attempt.cause = Cause::time_limit;
      return;
    }
    if (is("CANCELLED")) {
      attempt.cause = Cause::cancelled;
      attempt.detail =
          fmt::format("its Slurm job, {}+{}, was cancelled", allocation.leader, allocation.group);
      return;
    }
    if (!is("COMPLETING")) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
  }
}

}  // namespace dllaunch
