#include "launcher/monitor/follow.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/run/log_line.hpp"
#include "launcher/run/rank_records.hpp"
#include "launcher/run/stored_run.hpp"

namespace dllaunch {

Follower::Follower(System& system, const RunDir& run, const FollowSettings& settings)
    : system_(system),
      settings_(settings),
      progress_({.terminal = settings.terminal,
                 .color = settings.terminal && system.console().color_err,
                 .columns = system.console().columns,
                 .epochs = settings.epochs,
                 .max_steps = settings.max_steps,
                 .run_dir = run.path}),
      events_(run.events()) {
  RankOutputSettings output{.skip_present = !settings.attached_at_s,
                            .several = settings.ranks > 1,
                            .plain = settings.plain};
  if (settings.components.empty()) {
    outputs_.emplace_back(run.out(), output);
    ended_.push_back({.dir = run});
  }
  for (const auto& component : settings.components) {
    output.component = component;
    outputs_.emplace_back(component_dir(run.path, component) + "/out", output);
    ended_.push_back({.dir = {.path = component_dir(run.path, component)}, .component = component});
  }
  for (auto events = events_.read(); !events.empty(); events = events_.read()) {
    for (const auto& event : events) {
      const bool ours = settings.attached_at_s && time_of(event) >= *settings.attached_at_s;
      if (!ours) totals_.recall(event);
      if (ours && settings.show_past) take(event);
      if (ours && !settings.show_past) totals_.take(event);
    }
  }
  if (!settings.attached_at_s) events_.drop_rest();
}

void Follower::take(const Event& event) {
  heard_at_ = std::chrono::steady_clock::now();
  if (totals_.take(event)) progress_.take(event);
}

void Follower::read_events() {
  for (auto events = events_.read(); !events.empty(); events = events_.read()) {
    for (const auto& event : events) take(event);
  }
}

/// Tells of ranks that left the others alone, once that has lasted: ranks seldom end at once.
void Follower::look_at_ranks() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds pause(2);
  constexpr std::chrono::seconds patience(8);
  constexpr int share_of_time = 20;  // for records on a slow file system
  const auto now = Clock::now();
  if (now < next_look_) return;
  for (auto& one : ended_) {
    auto words = words_of_who_left(one.dir);
    if (words != one.words) one.since = now;
    one.words = std::move(words);
    if (one.words.empty() || one.words == one.told || now - one.since < patience) continue;
    one.told = one.words;
    progress_.say(one.component.empty() ? one.words : one.component + ": " + one.words);
  }
  for (const auto& output : outputs_) {
    const auto& rank = output.waits_for_step();
    if (!rank || std::exchange(told_of_step_, true)) continue;
    progress_.say(fmt::format("srun of rank {} on {} {}", rank->rank, rank->node, overlap_words));
  }
  const auto end = Clock::now();
  next_look_ = end + std::max<Clock::duration>(pause, share_of_time * (end - now));
}

void Follower::say_that_a_step_waits(const std::string& host) {
  if (!std::exchange(told_of_step_, true)) say(fmt::format("srun on {} {}", host, overlap_words));
}

std::chrono::steady_clock::duration Follower::silence() const {
  return std::chrono::steady_clock::now() - heard_at_;
}

void Follower::say_all(const std::vector<std::string>& lines) {
  for (const auto& line : lines) progress_.say(line);
  if (!lines.empty()) heard_at_ = std::chrono::steady_clock::now();
}

void Follower::write(const std::string& text) {
  if (!text.empty() && system_.console().verbosity >= 0) system_.log(text);
}

std::vector<std::string> Follower::fresh_lines(bool rest) {
  std::vector<std::string> all;
  for (auto& output : outputs_) {
    auto lines = rest ? output.finish() : output.poll(unix_seconds());
    std::move(lines.begin(), lines.end(), std::back_inserter(all));
  }
  return all;
}

bool Follower::is_behind() const {
  return std::ranges::any_of(outputs_, [](const RankOutput& one) { return one.behind(); });
}

void Follower::poll() {
  read_events();
  // Write in parts, so that a fast command does not fill memory.
  constexpr int most_parts = 16;
  int parts = 0;
  do {
    if (settings_.show_logs) say_all(fresh_lines(/*rest=*/false));
    write(progress_.draw(unix_seconds()));
  } while (is_behind() && ++parts < most_parts);
  look_at_ranks();
}

void Follower::waiting(const std::string& what) {
  progress_.waiting(what);
  write(progress_.draw(unix_seconds()));
}

void Follower::log(const std::string& line) {
  progress_.say(line);
  write(progress_.draw(unix_seconds()));
}

void Follower::say(const std::string& line) {
  if (system_.console().verbosity < 0) {
    system_.log(line + "\n");
    return;
  }
  log(line);
}

void Follower::finish() {
  read_events();
  do {
    if (settings_.show_logs) say_all(fresh_lines(/*rest=*/true));
    write(progress_.draw(unix_seconds()));
  } while (is_behind());
  write(progress_.finish());
}

}  // namespace dllaunch
