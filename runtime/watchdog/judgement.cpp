#include "runtime/watchdog/judgement.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace dllaunch {
namespace {

bool waits_longer(const RankState& state, std::int64_t than_ns) {
  return !state.dead && !state.left && state.waiting_for != 0 && state.waiting_age_ns > than_ns;
}

Wait wait_of(const RankState& state) {
  if (state.waiting_rank >= 0) {
    return {.number = state.waiting_for, .waiter = state.rank, .sender = state.waiting_rank};
  }
  const bool of_group = state.scope == CollectiveScope::group;
  return {.number = state.waiting_for, .group = of_group ? state.group : -1};
}

/// Whether it waits for this collective or another one of the same ranks.
bool waits_among_the_same(const RankState& state, const Wait& collective) {
  if (state.waiting_for == 0) return false;
  const Wait own = wait_of(state);
  return !own.is_message() && own.group == collective.group;
}

/// Why a rank that `wait` depends on is late for it, as far as the rank itself shows.
std::optional<WhyLate> lateness(const RankState& state, const Wait& wait) {
  const auto scope =
      static_cast<std::size_t>(wait.group < 0 ? CollectiveScope::world : CollectiveScope::group);
  const bool arrived = !wait.is_message() && state.begun[scope] >= wait.number;
  if (state.left) return arrived ? std::nullopt : std::optional(WhyLate::left);
  if (state.dead) return WhyLate::died;
  if (state.silent) return WhyLate::silent;
  // Wherever it is: its help may be needed to deliver what it sent.
  if (state.heartbeat_age_ns > stale_heartbeat_ns) return WhyLate::unresponsive;
  if (wait.is_message()) return WhyLate::busy;
  if (!arrived) return WhyLate::not_arrived;
  if (!waits_among_the_same(state, wait) && state.ended[scope] < wait.number) {
    return WhyLate::not_attending;
  }
  return std::nullopt;
}

/// Whether a rank that is late for `wait` is so because it waits for something else.
bool is_held_up(const RankState& state, const Wait& wait) {
  return is_answering(state) && state.waiting_for != 0 &&
         (wait.is_message() || !waits_among_the_same(state, wait));
}

/// Follows waits from rank to rank.
class Chains {
 public:
  explicit Chains(std::span<const RankState> ranks) : ranks_(ranks) {}

  /// `holds_up`: of the ranks that are directly late for `wait`.
  void follow(const Wait& wait, int holds_up) {
    std::deque<std::pair<Wait, int>> to_follow = {{wait, holds_up}};
    while (!to_follow.empty()) {
      const auto [next, held_up] = to_follow.front();
      to_follow.pop_front();
      if (!followed_.insert(next).second) continue;
      if (next.is_message()) reached_.insert(next.waiter);
      each_of(next, [&, &next = next, held_up = held_up](const RankState& state) {
        if (!state.left) reached_.insert(state.rank);
        const auto why = lateness(state, next);
        if (!why) return;
        if (is_held_up(state, next)) {
          to_follow.emplace_back(wait_of(state), state.rank);
        } else {
          late_.try_emplace(state.rank, LateRank{state.rank, *why, held_up});
        }
      });
    }
  }

  std::vector<LateRank> late() const {
    std::vector<LateRank> all;
    for (const auto& [rank, late] : late_) all.push_back(late);
    return all;
  }
  std::vector<int> reached() const { return {reached_.begin(), reached_.end()}; }

 private:
  template <typename Take>
  void each_of(const Wait& wait, Take take) const {
    if (wait.is_message()) {
      if (wait.sender < std::ssize(ranks_)) take(ranks_[static_cast<std::size_t>(wait.sender)]);
      return;
    }
    for (const RankState& state : ranks_) {
      if (wait.group < 0 || state.group == wait.group) take(state);
    }
  }

  std::span<const RankState> ranks_;
  std::set<Wait> followed_;
  std::set<int> reached_;
  std::map<int, LateRank> late_;
};

/// A rank that waits for it, and longer than the others.
struct Overdue {
  Wait wait = {};
  RankState longest = {};
};

std::vector<int> members_of(int group, std::span<const RankState> ranks) {
  std::vector<int> members;
  for (const RankState& state : ranks) {
    if (group >= 0 && state.group == group) members.push_back(state.rank);
  }
  return members;
}

/// The first collective of each group, and all messages; the one to report first is the first.
std::vector<Overdue> overdue_waits(std::span<const RankState> ranks, std::int64_t stall_ns,
                                   const Wait& known) {
  std::map<int, std::uint64_t> first;  // by group
  std::vector<Overdue> found;
  for (const RankState& state : ranks) {
    if (!waits_longer(state, stall_ns)) continue;
    const Wait wait = wait_of(state);
    if (wait.is_message()) {
      found.push_back({wait, state});
      continue;
    }
    auto& number = first.try_emplace(wait.group, wait.number).first->second;
    number = std::min(number, wait.number);
  }
  std::vector<Overdue> collectives;
  for (const auto& [group, number] : first) {
    Overdue late{.wait = {.number = number, .group = group}};
    for (const RankState& state : ranks) {
      if (state.waiting_for == 0 || wait_of(state) != late.wait) continue;
      if (state.waiting_age_ns >= late.longest.waiting_age_ns) late.longest = state;
    }
    collectives.push_back(late);
  }
  found.insert(found.begin(), collectives.begin(), collectives.end());
  // The message that a stopped rank waits for may have come long ago.
  const auto is_doubtful = [](const Overdue& each) {
    return each.wait.is_message() && !is_answering(each.longest);
  };
  std::ranges::stable_sort(found, [&](const Overdue& a, const Overdue& b) {
    if ((a.wait == known) != (b.wait == known)) return a.wait == known;
    if (is_doubtful(a) != is_doubtful(b)) return is_doubtful(b);
    return a.longest.waiting_age_ns > b.longest.waiting_age_ns;
  });
  return found;
}

/// Whether every rank that still trains has lacked a batch for this long.
bool all_lack_data(std::span<const RankState> ranks, std::int64_t stall_ns) {
  bool any = false;
  for (const RankState& state : ranks) {
    if (state.left || state.dead) continue;
    const bool lacks =
        state.phase == RankPhase::data && state.waiting_for == 0 && state.phase_age_ns > stall_ns;
    if (!lacks) return false;
    any = true;
  }
  return any;
}

Verdict without_data(std::span<const RankState> ranks) {
  Verdict verdict;
  for (const RankState& state : ranks) {
    if (state.left) continue;
    verdict.late.push_back({state.rank, state.dead ? WhyLate::died : WhyLate::no_batch});
    verdict.waited_ns = std::max(verdict.waited_ns, state.phase_age_ns);
  }
  return verdict;
}

}  // namespace

bool is_answering(const RankState& state) {
  return !state.dead && !state.left && !state.silent &&
         state.heartbeat_age_ns <= stale_heartbeat_ns;
}

bool any_overdue(std::span<const RankState> ranks, std::int64_t stall_ns) {
  return std::ranges::any_of(ranks,
                             [&](const RankState& each) { return waits_longer(each, stall_ns); });
}

bool is_suspicious(std::span<const RankState> ranks, std::int64_t stall_ns) {
  return any_overdue(ranks, stall_ns) || all_lack_data(ranks, stall_ns);
}

std::optional<Verdict> judge(std::span<const RankState> ranks, std::int64_t stall_ns,
                             const Wait& known) {
  const auto overdue = overdue_waits(ranks, stall_ns, known);
  for (const Overdue& each : overdue) {
    Chains chains(ranks);
    chains.follow(each.wait, -1);
    Verdict verdict{.wait = each.wait,
                    .kind = each.longest.kind,
                    .bytes = each.longest.bytes,
                    .waited_ns = each.longest.waiting_age_ns,
                    .members = members_of(each.wait.group, ranks),
                    .late = chains.late(),
                    .within = chains.reached()};
    const bool all_have_waited = std::ranges::all_of(ranks, [&](const RankState& state) {
      return !std::ranges::binary_search(verdict.within, state.rank) ||
             waits_longer(state, stall_ns);
    });
    if (verdict.is_stuck() && all_have_waited) return verdict;
    if (verdict.is_stuck()) continue;
    // What holds up the others too is worth knowing at once.
    for (const Overdue& other : overdue) chains.follow(other.wait, other.longest.rank);
    verdict.late = chains.late();
    return verdict;
  }
  if (overdue.empty() && all_lack_data(ranks, stall_ns)) return without_data(ranks);
  return std::nullopt;
}

}  // namespace dllaunch
