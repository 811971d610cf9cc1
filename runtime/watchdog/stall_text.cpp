#include "runtime/watchdog/stall_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "support/id_set.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_named = 8;
constexpr std::size_t most_doing = 360;
constexpr std::size_t most_line = 3500;

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 1e3) return fmt::format("{} B", bytes);
  if (value < 1e6) return fmt::format("{:.1f} kB", value / 1e3);
  if (value < 1e9) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.1f} GB", value / 1e9);
}

std::string rank_list(const std::vector<int>& ranks) {
  IdSet all;
  for (const int rank : ranks) all.insert(rank);
  std::string text = to_list(all);
  constexpr std::size_t most = 60;
  if (text.size() > most) text = fmt::format("{}... ({})", text.substr(0, most), ranks.size());
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", text);
}

/// Text from other ranks is shown as one plain line.
std::string plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  if (text.size() > most_doing) text = text.substr(0, most_doing) + "...";
  return text;
}

std::string waited_for_text(const Wait& wait, std::int64_t ns) {
  return fmt::format("waited {} for rank {}", seconds_text(ns), wait.sender);
}

/// "waits for rank 2", "waits in all_reduce #7"; empty: for nothing.
std::string wait_text(const RankState& state) {
  if (state.waiting_for == 0) return "";
  if (state.waiting_rank >= 0) return fmt::format("waits for rank {}", state.waiting_rank);
  return fmt::format("waits in {} #{}", to_string(state.kind), state.waiting_for);
}

std::string whereabouts(const RankState& state, bool with_age) {
  std::string text(to_string(state.phase));
  if (with_age) text += " for " + seconds_text(state.phase_age_ns);
  return text + fmt::format(", step {}", state.step);
}

/// The kernel's view of a process whose threads are all stopped.
bool is_stopped(const std::string& doing) {
  return doing == "stopped" || doing == "stopped by a debugger";
}

/// "has not arrived (data for 63 s, step 812): poll < read_batch"
std::string predicate(const RankState& state, WhyLate why, const std::string& doing) {
  const std::string told = doing.empty() ? "" : ": " + doing;
  switch (why) {
    case WhyLate::died:
      return fmt::format("has died ({})", whereabouts(state, false));
    case WhyLate::left:
      return "has ended its training";
    case WhyLate::unresponsive:
      if (is_stopped(doing)) return fmt::format("is {} ({})", doing, whereabouts(state, true));
      return fmt::format("does not answer ({}){}", whereabouts(state, true), told);
    case WhyLate::not_attending:
      return fmt::format("has begun it and does not wait for it ({}){}", whereabouts(state, true),
                         told);
    case WhyLate::busy:
      return fmt::format("has been in {} for {}, step {}{}", to_string(state.phase),
                         seconds_text(state.phase_age_ns), state.step, told);
    case WhyLate::silent:
    case WhyLate::not_arrived:
    case WhyLate::no_batch:
      break;
  }
  return fmt::format("has not arrived ({}){}", whereabouts(state, true), told);
}

class Line {
 public:
  explicit Line(const StallContext& scene) : scene_(scene) {}

  std::string text() {
    const Verdict& verdict = scene_.verdict;
    const std::string waited = seconds_text(verdict.waited_ns);
    if (verdict.is_missing_data()) {
      line_ = fmt::format("stall: no rank has had a batch of data for {}", waited);
    } else if (verdict.wait.is_message()) {
      line_ = fmt::format("stall: rank {} has {}", verdict.wait.waiter,
                          waited_for_text(verdict.wait, verdict.waited_ns));
    } else {
      line_ = fmt::format("stall: {} is {} late", collective_text(verdict), waited);
    }
    if (verdict.is_stuck()) {
      line_ += is_circle() ? ", and they wait for each other" : ", with every rank in it";
      line_ += ": the communication makes no progress";
      add_stuck();
    } else {
      add_silent_nodes();
      add_late();
    }
    if (line_.size() > most_line) line_ = line_.substr(0, most_line) + "...";
    return line_;
  }

 private:
  const RankState& state(int rank) const { return scene_.ranks[static_cast<std::size_t>(rank)]; }
  const std::string& host(int rank) const { return scene_.hosts[static_cast<std::size_t>(rank)]; }
  std::string doing(int rank) const {
    const auto found = scene_.doing.find(rank);
    return found == scene_.doing.end() ? "" : plain(found->second);
  }

  /// Whether the ranks wait for different things.
  bool is_circle() const {
    const Wait& wait = scene_.verdict.wait;
    return wait.is_message() || std::ranges::any_of(scene_.verdict.within, [&](int rank) {
             return state(rank).waiting_rank >= 0 || state(rank).waiting_for != wait.number;
           });
  }

  void add(const std::string& part) {
    line_ += first_ ? ": " : "; ";
    line_ += part;
    first_ = false;
  }

  void add_silent_nodes() {
    std::map<int, std::vector<int>> nodes;
    for (const LateRank& late : scene_.verdict.late) {
      if (late.why == WhyLate::silent) nodes[state(late.rank).node].push_back(late.rank);
    }
    std::size_t named = 0;
    for (const auto& [node, ranks] : nodes) {
      if (++named > most_named) continue;
      add(fmt::format("no word from {} ({})", host(ranks.front()), rank_list(ranks)));
    }
    if (named > most_named) add(fmt::format("nor from {} more nodes", named - most_named));
  }

  void add_late() {
    std::size_t named = 0;
    std::vector<int> unnamed;
    for (const LateRank& late : scene_.verdict.late) {
      if (late.why == WhyLate::silent) continue;
      if (++named > most_named) {
        unnamed.push_back(late.rank);
        continue;
      }
      const std::string held_up =
          late.holds_up < 0 ? "" : fmt::format("holds up rank {}: it ", late.holds_up);
      add(fmt::format("rank {} on {} {}{}", late.rank, host(late.rank), held_up,
                      predicate(state(late.rank), late.why, doing(late.rank))));
    }
    if (!unnamed.empty()) add(fmt::format("and {} more: {}", unnamed.size(), rank_list(unnamed)));
  }

  /// A rank that was stopped inside the collective is the cause, though it may have answered a
  /// moment ago. The others are grouped by what they do, the smallest groups first.
  void add_stuck() {
    std::map<std::string, std::vector<int>> by_doing;
    for (const int rank : scene_.verdict.within) {
      const RankState& each = state(rank);
      std::string what = doing(rank);
      if (is_stopped(what)) {
        add(fmt::format("rank {} on {} {}", each.rank, host(each.rank),
                        predicate(each, WhyLate::unresponsive, what)));
        continue;
      }
      if (what.empty()) what = "not asked";
      if (is_circle()) what = wait_text(each) + ": " + what;
      by_doing[what].push_back(rank);
    }
    std::vector<std::pair<std::string, std::vector<int>>> groups(by_doing.begin(), by_doing.end());
    std::ranges::stable_sort(
        groups, [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (const auto& [what, ranks] : groups) {
      const std::string who = ranks.size() == 1
                                  ? fmt::format("rank {} on {}", ranks[0], host(ranks[0]))
                                  : rank_list(ranks);
      add(fmt::format("{}: {}", who, what));
    }
  }

  const StallContext& scene_;
  std::string line_;
  bool first_ = true;
};

}  // namespace

std::string seconds_text(std::int64_t ns) {
  const double seconds = static_cast<double>(ns) * 1e-9;
  return seconds < 9.95 ? fmt::format("{:.1f} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string collective_text(const Verdict& verdict) {
  const Wait& wait = verdict.wait;
  if (verdict.is_missing_data()) return "";
  if (wait.is_message()) {
    return fmt::format("message of rank {} to rank {}", wait.sender, wait.waiter);
  }
  std::string text = fmt::format("{} #{}", to_string(verdict.kind), wait.number);
  if (verdict.bytes > 0) text += fmt::format(" ({})", bytes_text(verdict.bytes));
  if (wait.group >= 0) text += " of " + rank_list(verdict.members);
  return text;
}

std::vector<int> ranks_to_describe(const Verdict& verdict) {
  std::vector<int> chosen;
  if (verdict.is_stuck()) {
    return {verdict.within.begin(),
            verdict.within.begin() +
                static_cast<std::ptrdiff_t>(std::min(verdict.within.size(), most_named))};
  }
  for (const LateRank& late : verdict.late) {
    const bool mute =
        late.why == WhyLate::silent || late.why == WhyLate::died || late.why == WhyLate::left;
    if (!mute && chosen.size() < most_named) chosen.push_back(late.rank);
  }
  return chosen;
}

std::string stall_line(const StallContext& scene) {
  return Line(scene).text();
}

std::string over_line(const Verdict& verdict) {
  const std::string after = seconds_text(verdict.waited_ns);
  if (verdict.is_missing_data()) return "stall: data is available again after " + after;
  if (verdict.wait.is_message()) {
    return fmt::format("stall: rank {} continued after it had {}", verdict.wait.waiter,
                       waited_for_text(verdict.wait, verdict.waited_ns));
  }
  return fmt::format("stall: {} continued after {}", collective_text(verdict), after);
}

std::string death_line(const RankState& state, const std::string& host, const std::string& how) {
  std::string line = fmt::format("rank {} on {} {} in {}, step {}", state.rank, host, how,
                                 to_string(state.phase), state.step);
  if (state.waiting_for == 0) return line;
  if (state.waiting_rank >= 0)
    return line + fmt::format(", waiting for rank {}", state.waiting_rank);
  return line + fmt::format(", in {} #{}", to_string(state.kind), state.waiting_for);
}

}  // namespace dllaunch
