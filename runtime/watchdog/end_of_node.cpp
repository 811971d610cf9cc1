#include "runtime/watchdog/end_of_node.hpp"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "runtime/watchdog/kernel_view.hpp"
#include "runtime/watchdog/thread_stack.hpp"
#include "support/fatal.hpp"

namespace dllaunch {
namespace {

constexpr std::int64_t term_to_kill_ns = 5'000'000'000;
/// Limit for the final messages, whose terminal or file system may hang.
constexpr unsigned longest_end_seconds = 10;
constexpr std::size_t most_threads = 16;
constexpr std::chrono::milliseconds stack_at_the_end_within(50);

/// Returns this process's threads, lowest ids first.
std::vector<pid_t> own_threads() {
  std::vector<pid_t> threads;
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return threads;
  while (const dirent* entry = ::readdir(folder)) {
    const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (thread > 0 && threads.size() < most_threads) threads.push_back(thread);
  }
  ::closedir(folder);
  return threads;
}

void print(const std::string& line) {
  const std::string whole = line + "\n";
  // One write, so that lines of several ranks do not mix. A failure cannot be reported.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, whole.data(), whole.size());
}

bool needs_a_push(const RankState& state) {
  return !state.dead && !state.left && state.waiting_for == 0;
}

bool is_stale(const RankState& state) {
  return !state.dead && !state.left && state.heartbeat_age_ns > stale_heartbeat_ns;
}

}  // namespace

void EndOfNode::order(GiveUp why, std::string message) {
  message_ = std::move(message);
  for (RankRecord* record : board_.records()) {
    record->give_up.store(static_cast<std::int64_t>(why), std::memory_order_release);
  }
}

/// Prints the stacks of this process's threads, and the kernel's view of ranks that cannot respond.
void EndOfNode::dump() const {
  const auto own = static_cast<std::size_t>(roster_.rank);
  const Member& self = roster_.members[own];
  const auto here = static_cast<pid_t>(::syscall(SYS_gettid));
  for (const pid_t thread : own_threads()) {
    if (thread == here) continue;
    std::string text = stack_of(thread, stack_at_the_end_within);
    if (text.empty()) text = describe(look_at_thread(self.pid, thread));
    print(fmt::format("rank {} on {}: thread {}{}: {}", roster_.rank, self.host, thread,
                      thread == self.thread ? " (training)" : "", text));
  }
  if (message_.empty()) return;
  for (const RankState& state : node_.states(monotonic_ns())) {
    if (!is_stale(state)) continue;
    const Member& member = roster_.members[static_cast<std::size_t>(state.rank)];
    print(fmt::format("rank {} on {}: {}", state.rank, member.host,
                      describe(look_at_thread(member.pid, member.thread))));
  }
}

void EndOfNode::begin(GiveUp why, std::int64_t now_ns) {
  why_ = why;
  leave_ns_ = now_ns;
  if (why == GiveUp::death) return;  // nothing can be saved: all exit at once
  leave_ns_ += term_to_kill_ns;
  leave_within(longest_end_seconds);
  dump();
  if (message_.empty()) return;
  for (const RankState& state : node_.states(monotonic_ns())) {
    if (needs_a_push(state) || is_stale(state)) node_.signal(state.rank, SIGTERM);
  }
}

void EndOfNode::tick(std::int64_t now_ns) {
  if (why_ == GiveUp::no) {
    const auto ordered = board_.own().give_up.load(std::memory_order_acquire);
    if (ordered == 0) return;
    begin(static_cast<GiveUp>(ordered), now_ns);
  }
  if (now_ns < leave_ns_) return;
  // Every rank does so, since the reporting rank may be stopped too.
  for (const RankState& state : node_.states(now_ns)) {
    if (is_stale(state)) node_.signal(state.rank, SIGKILL);
  }
  if (message_.empty()) ::_exit(fatal_exit_code);
  die("stall", message_);
}

}  // namespace dllaunch
