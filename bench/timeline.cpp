// CPU time that a timeline costs a rank.
//
//   bench_timeline [EVENTS]
//
// Prints one line: nanoseconds per span on the training thread and on the writer thread.
#include <fmt/core.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "runtime/timeline/timeline.hpp"

namespace {

using namespace dllaunch;

double cpu_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const int spans = argc > 1 ? std::atoi(argv[1]) : 200000;
  const std::string path = std::filesystem::temp_directory_path() / "bench-timeline.json";
  Activity activity;
  Timeline timeline({.path = path, .head = {.host = "here", .communicator = "solo"}}, activity);
  timeline.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until the file exists
  const double all_before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  double training_s = 0;
  for (int done = 0; done < spans; done += 1000) {
    const double before = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 1000; ++i) timeline.phase_ended(RankPhase::forward, -1, 1, 2);
    training_s += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double all_s = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - all_before;
  fmt::print("{} spans, {} dropped: training thread {:.0f} ns each, whole process {:.0f} ns each\n",
             spans, timeline.dropped(), 1e9 * training_s / spans, 1e9 * all_s / spans);
  std::filesystem::remove(path);
}
