#include "runtime/watchdog/node_watch.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "runtime/watchdog/kernel_view.hpp"
#include "runtime/watchdog/thread_stack.hpp"
#include "support/fatal.hpp"

namespace dllaunch {
namespace {

constexpr std::int64_t answer_within_ns = 350'000'000;
constexpr std::chrono::milliseconds stack_of_a_stall_within(200);

/// linux/pidfd.h of Linux 6.15: distributions' headers lag behind their kernels.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::array<std::uint32_t, 11> ids;
  std::int32_t exit_code;
};
constexpr std::uint64_t pidfd_info_exit = 8;

std::string signal_word(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::int64_t age(std::int64_t since_ns, std::int64_t now_ns) {
  return std::max<std::int64_t>(0, now_ns - since_ns);
}

}  // namespace

std::optional<int> end_of_process(int pidfd) {
  PidfdInfo info = {};
  static_assert(sizeof info == 64);
  info.mask = pidfd_info_exit;
  constexpr unsigned long get_info = _IOWR(0xFF, 11, PidfdInfo);
  if (::ioctl(pidfd, get_info, &info) != 0 || (info.mask & pidfd_info_exit) == 0) {
    return std::nullopt;
  }
  return info.exit_code;
}

NodeWatch::NodeWatch(const Roster& roster, const NodeBoard& board)
    : roster_(roster),
      board_(board),
      ended_(roster.neighbours().size(), false),
      dead_(roster.neighbours().size(), false),
      questions_(roster.neighbours().size()) {
  for (std::size_t i = 0; i < roster.neighbours().size(); ++i) {
    const auto rank = static_cast<std::size_t>(roster.neighbours()[i]);
    const pid_t pid = roster.members[rank].pid;
    FileDescriptor process;
    if (pid != ::getpid()) {
      process = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
      if (!process && errno == ESRCH) ended_[i] = dead_[i] = true;
    }
    processes_.push_back(std::move(process));
  }
}

std::size_t NodeWatch::place(int rank) const {
  const auto& neighbours = roster_.neighbours();
  return static_cast<std::size_t>(std::ranges::find(neighbours, rank) - neighbours.begin());
}

std::vector<pollfd> NodeWatch::to_poll() const {
  std::vector<pollfd> all;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i] && !ended_[i])
      all.push_back({.fd = processes_[i].get(), .events = POLLIN, .revents = 0});
  }
  return all;
}

void NodeWatch::notice_ends() {
  auto all = to_poll();
  if (all.empty() || ::poll(all.data(), all.size(), 0) <= 0) return;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const bool now = std::ranges::any_of(all, [&](const pollfd& each) {
      return each.fd == processes_[i].get() && each.revents != 0;
    });
    if (!now) continue;
    ended_[i] = true;
    dead_[i] = !board_.records()[i]->left;
  }
}

void NodeWatch::add_pause(std::int64_t from_ns, std::int64_t to_ns) {
  constexpr std::size_t most_kept = 1000;
  pauses_.emplace_back(from_ns, to_ns);
  if (pauses_.size() > most_kept) pauses_.pop_front();
}

std::int64_t NodeWatch::counted_age(std::int64_t since_ns, std::int64_t now_ns) const {
  std::int64_t counted_ns = age(since_ns, now_ns);
  for (const auto& [from_ns, to_ns] : pauses_)
    counted_ns -= age(std::max(since_ns, from_ns), std::max(since_ns, to_ns));
  return counted_ns;
}

RankState NodeWatch::state_of(std::size_t place, std::int64_t now_ns) const {
  const RankRecord& record = *board_.records()[place];
  const Beacon& beacon = record.beacon;
  RankState state;
  state.rank = roster_.neighbours()[place];
  state.node = roster_.node();
  state.group = roster_.members[static_cast<std::size_t>(state.rank)].group;
  state.dead = dead_[place];
  // First: what is read of a collective must not be newer than the wait for it. Its beginning last:
  // see Activity::begin_wait().
  state.waiting_for = beacon.waiting_for.load(std::memory_order_acquire);
  state.waiting_rank = beacon.waiting_rank.load(std::memory_order_acquire) - 1;
  state.scope = beacon.waiting_scope.load(std::memory_order_acquire);
  state.waiting_age_ns =
      counted_age(beacon.waiting_since_ns.load(std::memory_order_relaxed), now_ns);
  state.kind = beacon.waiting_kind.load(std::memory_order_relaxed);
  state.bytes = beacon.waiting_bytes.load(std::memory_order_relaxed);
  state.heartbeat_age_ns = age(record.heartbeat_ns.load(std::memory_order_relaxed), now_ns);
  state.step = beacon.step.load(std::memory_order_relaxed);
  const PhaseEntry entry = beacon.phase.load();
  state.phase = entry.phase;
  state.phase_age_ns = counted_age(entry.since_ns, now_ns);
  for (std::size_t i = 0; i < collective_scopes; ++i) {
    state.begun[i] = beacon.collectives[i].begun.load(std::memory_order_acquire);
    state.ended[i] = beacon.collectives[i].ended.load(std::memory_order_acquire);
  }
  state.left = record.left.load(std::memory_order_acquire);
  return state;
}

std::vector<RankState> NodeWatch::states(std::int64_t now_ns) const {
  std::vector<RankState> all;
  all.reserve(dead_.size());
  for (std::size_t i = 0; i < dead_.size(); ++i) all.push_back(state_of(i, now_ns));
  return all;
}

bool NodeWatch::is_speaker(std::int64_t now_ns) const {
  for (std::size_t i = 0; i < dead_.size(); ++i) {
    if (roster_.neighbours()[i] == roster_.rank) return true;
    const RankRecord& record = *board_.records()[i];
    const auto heartbeat_age = age(record.heartbeat_ns.load(std::memory_order_relaxed), now_ns);
    if (!dead_[i] && !record.left && heartbeat_age <= stale_heartbeat_ns) return false;
  }
  return true;
}

bool NodeWatch::has_death() const {
  return std::ranges::find(dead_, true) != dead_.end();
}

std::string NodeWatch::end_of(int rank) const {
  const std::size_t at = place(rank);
  if (!dead_[at]) return "";
  // A dead process is a zombie until its parent reaps it; after that only its pidfd knows.
  const Member& member = roster_.members[static_cast<std::size_t>(rank)];
  std::optional<int> status;
  if (const auto zombie = look_at_thread(member.pid, member.pid); zombie.end != 0)
    status = zombie.end;
  if (!status && processes_[at]) status = end_of_process(processes_[at].get());
  if (!status) return "died";
  if (WIFSIGNALED(*status)) return "died of " + signal_word(WTERMSIG(*status));
  if (WEXITSTATUS(*status) == fatal_exit_code) return "";
  return fmt::format("ended with exit code {}", WEXITSTATUS(*status));
}

bool NodeWatch::death_was_reported() const {
  return std::ranges::any_of(board_.records(),
                             [](const RankRecord* record) { return record->told_death.load(); });
}

void NodeWatch::ask(int rank, std::int64_t now_ns) {
  Question& question = questions_[place(rank)];
  question.deadline_ns = now_ns + answer_within_ns;
  question.number = board_.records()[place(rank)]->stack_asked.fetch_add(1) + 1;
}

std::optional<std::string> NodeWatch::told(int rank, std::int64_t now_ns) const {
  const std::size_t at = place(rank);
  const RankState state = state_of(at, now_ns);
  if (state.dead || state.left) return "";
  const RankRecord& record = *board_.records()[at];
  if (record.stack_answered.load(std::memory_order_acquire) >= questions_[at].number) {
    return load_text(record);
  }
  if (auto seen = seen_from_outside(rank, now_ns)) return seen;
  if (now_ns < questions_[at].deadline_ns) return std::nullopt;
  return look_at(rank);
}

std::string NodeWatch::look_at(int rank) const {
  const Member& member = roster_.members[static_cast<std::size_t>(rank)];
  return describe(look_at_thread(member.pid, member.thread));
}

std::optional<std::string> NodeWatch::seen_from_outside(int rank, std::int64_t now_ns) const {
  const RankState state = state_of(place(rank), now_ns);
  if (state.heartbeat_age_ns <= stale_heartbeat_ns) return std::nullopt;
  return look_at(rank);
}

void NodeWatch::answer_for_self() const {
  RankRecord& record = board_.own();
  const std::uint64_t asked = record.stack_asked.load(std::memory_order_acquire);
  if (asked == record.stack_answered.load(std::memory_order_relaxed)) return;
  const Member& self = roster_.members[static_cast<std::size_t>(roster_.rank)];
  std::string text = stack_of(self.thread, stack_of_a_stall_within);
  if (text.empty()) text = describe(look_at_thread(self.pid, self.thread));
  store_text(record, text);
  record.stack_answered.store(asked, std::memory_order_release);
}

void NodeWatch::signal(int rank, int number) const {
  const std::size_t at = place(rank);
  if (processes_[at] && !dead_[at]) {
    ::syscall(SYS_pidfd_send_signal, processes_[at].get(), number, nullptr, 0);
  }
}

}  // namespace dllaunch
