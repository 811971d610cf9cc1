#include "launcher/monitor/follow.hpp"

#include <algorithm>
#include <iterator>

#include "launcher/base/unix_seconds.hpp"
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
  if (settings.components.empty()) outputs_.emplace_back(run.out(), output);
  for (const auto& component : settings.components) {
    output.component = component;
    outputs_.emplace_back(component_dir(run.path, component) + "/out", output);
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
  if (totals_.take(event)) progress_.take(event);
}

void Follower::read_events() {
  for (auto events = events_.read(); !events.empty(); events = events_.read()) {
    for (const auto& event : events) take(event);
  }
}

void Follower::say_all(const std::vector<std::string>& lines) {
  for (const auto& line : lines) progress_.say(line);
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
