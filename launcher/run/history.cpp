#include "launcher/run/history.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/utf8.hpp"
#include "support/json_fields.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// The trainer's reason for continuing from a checkpoint; other values are reasons of a restart.
constexpr std::string_view resumed = "resume";

/// 469 of "runs/x/checkpoints/step-00000469".
std::optional<std::int64_t> step_of(std::string_view checkpoint) {
  constexpr std::string_view mark = "step-";
  const auto at = checkpoint.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const auto step = parse_number<std::int64_t>(checkpoint.substr(at + mark.size()));
  return step && *step >= 0 ? step : std::nullopt;
}

}  // namespace

bool History::is_orphan(std::int64_t fencing_token) {
  if (fencing_token <= 0) return false;
  if (fencing_token < fencing_token_) return true;
  fencing_token_ = fencing_token;
  return false;
}

bool History::follow(const Event& event, bool accounted) {
  if (is_orphan(fencing_token_of(event))) return false;
  if (const auto* start = std::get_if<StartEvent>(&event)) begin_incarnation(*start, accounted);
  if (const auto* restart = std::get_if<RestartEvent>(&event)) resume(*restart, accounted);
  if (const auto* end = std::get_if<EndEvent>(&event)) ended_ = end->status;
  if (const auto* step = std::get_if<StepEvent>(&event)) {
    if (!take_step(*step)) return false;
  }
  if (!std::holds_alternative<RestartEvent>(event)) incarnation_time_ = time_of(event);
  return true;
}

bool History::take(const Event& event) {
  if (!follow(event, /*accounted=*/true)) return false;
  account(event);
  return true;
}

bool History::recall(const Event& event) {
  return follow(event, /*accounted=*/false);
}

void History::begin_incarnation(const StartEvent& event, bool accounted) {
  ++incarnations_;
  if (accounted) ++accounted_incarnations_;
  base_known_ = false;
  restart_is_open_ = false;
  blocked_seconds_ = 0;
  // A start after an earlier run in the directory reports itself if it resumes.
  if (accounted_incarnations_ > 1) {
    down_since_ = incarnation_time_;
    if (idle_since_ == 0) idle_since_ = incarnation_time_;
    open_restart(event.time);
  }
}

void History::resume(const RestartEvent& event, bool accounted) {
  if (event.reason != resumed) {
    note_ = event.reason;
    queue_note_ = std::max(0.0, event.queue_seconds.value_or(0));
    if (accounted) queue_seconds_ += queue_note_;
    idle_queue_ += queue_note_;
    return;
  }
  // The first incarnation in a directory may start from another run's checkpoint.
  if (accounted && !restart_is_open_ && incarnations_ != 1) open_restart(event.time);
  if (restart_is_open_) restarts_.back().from = event.from;
  const auto step = event.step ? event.step : step_of(event.from);
  if (step) go_on_from(std::max<std::int64_t>(0, *step));
}

void History::open_restart(double time) {
  std::string reason = std::exchange(note_, {});
  if (reason.empty()) {
    reason = ended_.empty() ? "the previous start ended without a message"
                            : "the previous start ended as " + ended_;
  }
  ended_.clear();
  ++restart_count_;
  if (restarts_.size() == most_restarts) restarts_.erase(restarts_.begin());
  restarts_.push_back({.time = time, .reason = std::move(reason)});
  restart_is_open_ = true;
}

void History::go_on_from(std::int64_t step) {
  base_known_ = true;
  const std::int64_t lost_steps = std::max<std::int64_t>(0, step_ - step);
  const double lost_seconds = times_.begin_after(step);
  step_ = step;
  if (!restart_is_open_) return;
  lost_steps_ += lost_steps;
  lost_seconds_ += lost_seconds;
  Restart& restart = restarts_.back();
  restart.step = step;
  restart.lost_steps += lost_steps;
  restart.lost_seconds += lost_seconds;
}

bool History::take_step(const StepEvent& event) {
  if (event.step > 0) {
    if (!base_known_) go_on_from(event.step - 1);
    if (event.step <= step_) return false;
    step_ = event.step;
  }
  note_.clear();
  if (restart_is_open_ && !restarts_.back().down_seconds && down_since_ > 0) {
    restarts_.back().down_seconds = std::max(0.0, event.time - down_since_ - queue_note_);
    restarts_.back().queue_seconds = queue_note_;
  }
  queue_note_ = 0;
  if (idle_since_ > 0) {
    interrupted_seconds_ += std::max(0.0, event.time - idle_since_ - idle_queue_);
    first_step_ = true;
  }
  idle_since_ = idle_queue_ = 0;
  return true;
}

void History::account(const Event& event) {
  const double time = time_of(event);
  if (first_time_ == 0) first_time_ = time;
  latest_time_ = std::max(latest_time_, time);
  latest_seconds_ = 0;
  if (const auto* checkpoint = std::get_if<CheckpointEvent>(&event)) {
    // Reported late; only the blocked time is lost.
    if (checkpoint->seconds_blocked) {
      blocked_seconds_ += std::max(0.0, *checkpoint->seconds_blocked);
      return;
    }
  }
  if (std::holds_alternative<CheckpointFailedEvent>(event)) return;
  if (const auto* pause = std::get_if<PauseEvent>(&event)) {
    paused_seconds_ += pause->seconds;
    pause_ += pause->seconds;
    return;
  }
  const double pause = std::exchange(pause_, 0);
  double since = event_before_ > 0 ? std::max(0.0, time - event_before_ - pause) : 0;
  event_before_ = time;
  const auto* step = std::get_if<StepEvent>(&event);
  if (step == nullptr) return;
  const double blocked = std::min(since, blocked_seconds_);
  blocked_seconds_ -= blocked;
  since -= blocked;
  // A step's own time is useful.
  if (std::exchange(first_step_, false))
    interrupted_seconds_ -= std::min(since, interrupted_seconds_);
  times_.add(step->step, since);
  latest_seconds_ = since;
}

double History::span_until(double time_s) const {
  if (first_time_ == 0) return 0;
  return std::max(0.0,
                  std::max(latest_time_, time_s) - first_time_ - queue_seconds_ - paused_seconds_);
}

double History::span_seconds() const {
  return span_until(latest_time_);
}

std::string restart_words(const Restart& restart) {
  constexpr std::size_t most_shown = 300;
  std::string text(first_bytes(shown_line(restart.reason), most_shown));
  text += restart.step > 0 ? fmt::format("; from step {}", restart.step) : "; from the beginning";
  text += fmt::format(", {} step{} lost", restart.lost_steps, restart.lost_steps == 1 ? "" : "s");
  if (restart.down_seconds) text += fmt::format(", down {:.1f} s", *restart.down_seconds);
  return text;
}

Json to_json(const Restart& restart) {
  return {{"time", restart.time},
          {"reason", restart.reason},
          {"from", or_null(restart.from)},
          {"step", restart.step},
          {"lost_steps", restart.lost_steps},
          {"lost_seconds", restart.lost_seconds},
          {"down_seconds", or_null(restart.down_seconds)}};
}

}  // namespace dllaunch
