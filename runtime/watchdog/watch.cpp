#include "runtime/watchdog/watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <utility>

#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t gather_within_ns = 450 * ms;
/// A rank that itself did not run for this long lets the others catch up before it judges.
constexpr std::int64_t own_sleep_ns = 500 * ms;
constexpr std::int64_t shortest_quiet_ns = 300 * ms;
constexpr std::int64_t longest_quiet_ns = 2000 * ms;
/// The whole process was stopped, and perhaps the whole job.
constexpr std::int64_t shortest_pause_ns =
    std::chrono::nanoseconds(AwakeClock::shortest_pause).count();
constexpr std::int64_t others_resume_within_ns =
    std::chrono::nanoseconds(AwakeClock::others_resume_within).count();
/// A launcher asks all ranks to end as soon as one has died. A death this soon after the request is
/// the cause, a later one is not.
constexpr std::int64_t ending_is_cause_ns = 300 * ms;
/// Time for the launcher to end the other ranks.
constexpr std::int64_t death_to_end_ns = 5000 * ms;
/// Lets the judging node give up first and report it.
constexpr std::int64_t judge_is_late_ns = 2000 * ms;
constexpr std::size_t most_datagrams = 4096;  // per tick

std::int64_t to_ns(double seconds) {
  return static_cast<std::int64_t>(seconds * 1e9);
}

bool only_the_dead_are_late(const Verdict& verdict) {
  return !verdict.is_stuck() && std::ranges::all_of(verdict.late, [](const LateRank& late) {
    return late.why == WhyLate::died;
  });
}

}  // namespace

Watch::Watch(WatchdogOptions options, Acquaintance acquaintance, std::optional<SideChannel> channel)
    : options_(std::move(options)),
      stall_ns_(to_ns(options_.stall_seconds)),
      abort_ns_(to_ns(options_.stall_abort_seconds)),
      roster_(std::move(acquaintance.roster)),
      board_(std::move(acquaintance.board)),
      node_(roster_, board_),
      roll_call_(roster_.nodes, roster_.rank, stall_ns_),
      channel_(std::move(channel)),
      end_(roster_, board_, node_) {}

const std::string& Watch::host_of(int rank) const {
  return roster_.members[static_cast<std::size_t>(rank)].host;
}

void Watch::tick(std::int64_t now_ns) {
  note_own_sleep(now_ns);
  record().heartbeat_ns.store(now_ns, std::memory_order_relaxed);
  if (ending_since_ns_ == 0 && options_.ending()) ending_since_ns_ = now_ns;
  node_.notice_ends();
  note_death(now_ns);
  receive(now_ns);
  const bool speaker = node_.is_speaker(now_ns);
  if (speaker || roll_call_.is_active() || gathering_) {
    const auto own = node_.states(now_ns);
    send_all(roll_call_.tick(now_ns, own, speaker));
    if (speaker && !end_.has_begun()) {
      tell_deaths(own);
      if (now_ns >= quiet_until_ns_) judge_stall(now_ns, own);
      consider_giving_up(now_ns, own);
    }
  }
  node_.answer_for_self();
  answer_questions(now_ns);
  end_.tick(now_ns);
}

void Watch::note_own_sleep(std::int64_t now_ns) {
  const std::int64_t slept_ns = last_tick_ns_ == 0 ? 0 : now_ns - last_tick_ns_;
  last_tick_ns_ = now_ns;
  if (slept_ns <= own_sleep_ns) return;
  const bool paused = slept_ns > shortest_pause_ns;
  if (paused) {
    // No rank was waiting while all were stopped, and those of other nodes may still be.
    node_.add_pause(now_ns - slept_ns, now_ns);
    story_.add_pause(slept_ns);
    quiet_began_ns_ += slept_ns;
  }
  const std::int64_t longest_ns = paused ? others_resume_within_ns : longest_quiet_ns;
  // A rank that is starved all the time must still judge.
  const bool calm_before = now_ns - slept_ns > last_own_sleep_ns_ + longest_ns;
  last_own_sleep_ns_ = now_ns;
  if (calm_before) quiet_began_ns_ = now_ns;
  const std::int64_t quiet_ns =
      std::clamp(paused ? slept_ns : slept_ns / 2, shortest_quiet_ns, longest_ns);
  quiet_until_ns_ =
      std::max(quiet_until_ns_, std::min(now_ns + quiet_ns, quiet_began_ns_ + longest_ns));
}

void Watch::receive(std::int64_t now_ns) {
  if (!channel_) return;
  std::array<std::byte, most_message_bytes + 1> space;
  for (std::size_t i = 0; i < most_datagrams; ++i) {
    SideChannel::From from;
    const auto bytes = channel_->receive(space, from);
    if (!bytes) return;
    const auto message = decode(*bytes, roster_.token, static_cast<int>(roster_.members.size()));
    if (!message || message->to != roster_.rank || message->from == roster_.rank) continue;
    heard_from_[message->from] = from;
    take(*message, now_ns);
  }
}

void Watch::take(const WatchdogMessage& message, std::int64_t now_ns) {
  if (message.kind == MessageKind::describe) {
    for (const int rank : message.ranks) {
      if (roll_call_.node_of(rank) != roster_.node()) continue;
      node_.ask(rank, now_ns);
      questions_.push_back({.rank = rank, .asked_by = message.from});
    }
    return;
  }
  if (message.kind == MessageKind::description) {
    if (gathering_ && !message.ranks.empty())
      gathering_->scene.doing[message.ranks[0]] = message.text;
    return;
  }
  if (message.kind == MessageKind::give_up) {
    if (!end_.has_begun()) end_.order(GiveUp::stall, "the job " + message.text);
    return;
  }
  send_all(roll_call_.receive(message, now_ns, node_.states(now_ns)));
}

void Watch::send(const WatchdogMessage& message) {
  if (!channel_) return;
  const auto bytes = encode(message, roster_.token);
  const auto heard = heard_from_.find(message.to);
  if (heard != heard_from_.end()) {
    channel_->send(bytes, heard->second.address, heard->second.port);
    return;
  }
  const Member& member = roster_.members[static_cast<std::size_t>(message.to)];
  for (const HostAddress& address : member.addresses) channel_->send(bytes, address, member.port);
}

void Watch::send_all(const std::vector<WatchdogMessage>& messages) {
  for (const auto& message : messages) send(message);
}

void Watch::answer_questions(std::int64_t now_ns) {
  std::erase_if(questions_, [&](const Question& question) {
    const auto told = node_.told(question.rank, now_ns);
    if (!told) return false;
    if (question.asked_by == roster_.rank) {
      if (gathering_) gathering_->scene.doing[question.rank] = *told;
    } else {
      send({.kind = MessageKind::description,
            .from = roster_.rank,
            .to = question.asked_by,
            .ranks = {question.rank},
            .text = *told});
    }
    return true;
  });
}

/// Every rank does: the speaker may die before it tells or ends the node.
void Watch::note_death(std::int64_t now_ns) {
  if (death_ns_ != 0 || !node_.has_death()) return;
  if (ending_since_ns_ != 0 && now_ns - ending_since_ns_ > ending_is_cause_ns) return;
  death_ns_ = now_ns;
}

void Watch::tell_deaths(const std::vector<RankState>& own) {
  // Later deaths are consequences of the first.
  if (death_ns_ == 0 || node_.death_was_reported()) return;
  std::string line;
  std::vector<int> ranks;
  for (const RankState& state : own) {
    if (!state.dead) continue;
    const std::string how = node_.end_of(state.rank);
    if (how.empty()) continue;  // it has reported that itself
    ranks.push_back(state.rank);
    line += (line.empty() ? "" : "; ") + death_line(state, host_of(state.rank), how);
  }
  record().told_death = true;
  if (ranks.empty() || !options_.say) return;
  options_.say({.state = StallState::died, .late_ranks = std::move(ranks), .line = line});
}

std::vector<RankState> Watch::everyone(std::int64_t now_ns,
                                       const std::vector<RankState>& own) const {
  auto all = roll_call_.everyone(now_ns, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    all[rank].group = roster_.members[rank].group;
  return all;
}

/// Verdicts keep to one wait while it lasts, as others that it causes become overdue too.
Wait Watch::known_wait() const {
  return gathering_ ? gathering_->scene.verdict.wait : story_.wait();
}

void Watch::judge_stall(std::int64_t now_ns, const std::vector<RankState>& own) {
  const bool active = roll_call_.is_active();
  if (active && !roll_call_.is_judge()) {
    story_.forget();
    gathering_.reset();
    return;
  }
  if (active && !roll_call_.is_complete(now_ns)) return;
  std::optional<Verdict> verdict;
  std::vector<RankState> all;
  if (active) {
    all = everyone(now_ns, own);
    verdict = judge(all, stall_ns_, known_wait());
    if (verdict && node_.death_was_reported() && only_the_dead_are_late(*verdict)) return;
  }
  if (gathering_) {
    if (!verdict || verdict->wait != gathering_->scene.verdict.wait) {
      gathering_.reset();
      return;
    }
    gathering_->scene.verdict = *verdict;
    gathering_->scene.ranks = std::move(all);
    finish_gathering(now_ns);
    return;
  }
  switch (story_.next(verdict, now_ns)) {
    case StallReporter::Turn::nothing:
      break;
    case StallReporter::Turn::tell:
      gather(*verdict, std::move(all), now_ns);
      break;
    case StallReporter::Turn::tell_over:
      tell_over(now_ns);
      break;
  }
}

void Watch::tell_over(std::int64_t now_ns) {
  const Verdict last = story_.last(now_ns);
  tell(StallState::over, last, over_line(last));
  story_.forget();
}

void Watch::finish(std::int64_t now_ns) {
  // It would not leave if the collective were still stuck.
  if (story_.is_told()) tell_over(now_ns);
}

void Watch::gather(const Verdict& verdict, std::vector<RankState> ranks, std::int64_t now_ns) {
  gathering_ = Gathering{};
  gathering_->asked = ranks_to_describe(verdict);
  gathering_->deadline_ns = now_ns + gather_within_ns;
  gathering_->scene = {.verdict = verdict, .ranks = std::move(ranks)};
  for (const Member& member : roster_.members) gathering_->scene.hosts.push_back(member.host);
  std::map<int, std::vector<int>> elsewhere;
  for (const int rank : gathering_->asked) {
    if (roll_call_.node_of(rank) == roster_.node()) {
      node_.ask(rank, now_ns);
      questions_.push_back({.rank = rank, .asked_by = roster_.rank});
    } else {
      elsewhere[roll_call_.node_of(rank)].push_back(rank);
    }
  }
  for (const auto& [node, named] : elsewhere) {
    for (const int to : roll_call_.contacts(node, now_ns)) {
      send({.kind = MessageKind::describe, .from = roster_.rank, .to = to, .ranks = named});
    }
  }
}

void Watch::finish_gathering(std::int64_t now_ns) {
  StallContext& scene = gathering_->scene;
  const bool all_told =
      std::ranges::all_of(gathering_->asked, [&](int rank) { return scene.doing.contains(rank); });
  if (!all_told && now_ns < gathering_->deadline_ns) return;
  tell(StallState::late, scene.verdict, stall_line(scene));
  story_.told(scene.verdict, now_ns);
  last_doing_ = std::move(scene.doing);
  gathering_.reset();
}

void Watch::tell(StallState state, const Verdict& verdict, std::string line) {
  if (!options_.say) return;
  StallNotice notice{.state = state,
                     .collective = collective_text(verdict),
                     .seconds = static_cast<double>(verdict.waited_ns) * 1e-9,
                     .line = std::move(line)};
  for (const LateRank& late : verdict.late) notice.late_ranks.push_back(late.rank);
  if (verdict.is_stuck()) notice.late_ranks = verdict.within;
  options_.say(notice);
}

void Watch::consider_giving_up(std::int64_t now_ns, const std::vector<RankState>& own) {
  if (death_ns_ != 0 && now_ns - death_ns_ > death_to_end_ns) {
    return end_.order(GiveUp::death, "a rank of this node has died, the job cannot continue");
  }
  if (now_ns < quiet_until_ns_ || !roll_call_.is_active()) return;
  // A rank never heard from must not be taken for one that has not arrived.
  if (!roll_call_.is_judge() || !roll_call_.is_complete(now_ns)) {
    if (!any_overdue(own, abort_ns_ + judge_is_late_ns)) return;
    return end_.order(GiveUp::stall,
                      "a wait timed out here and no coordinator aborted the job; aborting");
  }
  const auto all = everyone(now_ns, own);
  const auto verdict = judge(all, stall_ns_, known_wait());
  if (!verdict || verdict->is_missing_data() || verdict->waited_ns < abort_ns_) return;
  give_up(*verdict, all, now_ns);
}

void Watch::give_up(const Verdict& verdict, const std::vector<RankState>& ranks,
                    std::int64_t now_ns) {
  StallContext scene{.verdict = verdict, .ranks = ranks, .doing = last_doing_};
  for (const Member& member : roster_.members) scene.hosts.push_back(member.host);
  for (const int rank : ranks_to_describe(verdict)) {
    if (roll_call_.node_of(rank) != roster_.node()) continue;
    if (const auto seen = node_.seen_from_outside(rank, now_ns)) scene.doing[rank] = *seen;
  }
  const std::string line = stall_line(scene);
  const std::string message = fmt::format("gave up after {} (runtime.stall_abort_seconds)",
                                          seconds_text(verdict.waited_ns));
  // Ending the job comes first: reporting may block on a hung file system.
  for (int node = 0; node < std::ssize(roster_.nodes); ++node) {
    if (node == roster_.node()) continue;
    for (const int to : roll_call_.contacts(node, now_ns)) {
      send({.kind = MessageKind::give_up, .from = roster_.rank, .to = to, .text = message});
    }
  }
  end_.order(GiveUp::stall, message);
  tell(StallState::gave_up, verdict, line + "; " + message);
}

}  // namespace dllaunch
