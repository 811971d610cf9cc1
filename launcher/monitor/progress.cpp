#include "launcher/monitor/progress.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "launcher/base/format.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/utf8.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view erase_line = "\r\033[K";

/// "[=====>....]", `width` characters with its brackets.
std::string bar(double done, int width) {
  const int inner = width - 2;
  const int full = std::clamp(static_cast<int>(done * inner), 0, inner);
  if (full == inner) return "[" + std::string(static_cast<std::size_t>(inner), '=') + "]";
  return "[" + std::string(static_cast<std::size_t>(full), '=') + ">" +
         std::string(static_cast<std::size_t>(inner - full - 1), '.') + "]";
}

void append(std::string& line, std::string_view separator, const std::string& part) {
  if (part.empty()) return;
  if (!line.empty()) line += separator;
  line += part;
}

std::string named(std::string_view name, std::optional<double> value) {
  return value ? fmt::format("{} {}", name, four_decimals(*value)) : std::string();
}

/// Of a step or an epoch: "1,234 images/s", or tokens.
template <typename Reported>
std::string throughput_of(const Reported& event) {
  if (event.tokens_per_s) return rate(*event.tokens_per_s) + " tokens/s";
  return event.images_per_s ? rate(*event.images_per_s) + " images/s" : std::string();
}

std::string epoch_numbers(const EpochEvent& event, std::string_view separator) {
  std::string text;
  append(text, separator, named("loss", event.loss));
  append(text, separator, named("accuracy", event.accuracy));
  append(text, separator, named("val_loss", event.val_loss));
  append(text, separator, named("val_perplexity", event.val_perplexity));
  append(text, separator, named("val_accuracy", event.val_accuracy));
  append(text, separator, throughput_of(event));
  return text;
}

std::string join_ranks(const std::vector<std::int64_t>& ranks) {
  std::string text;
  for (const auto rank : ranks) append(text, ", ", std::to_string(rank));
  return text.empty() ? "unknown" : text;
}

}  // namespace

Progress::Progress(ProgressStyle style) : style_(std::move(style)) {}

void Progress::take(const Event& event) {
  waiting_.clear();
  std::visit([this](const auto& one) { on(one); }, event);
}

void Progress::say(const std::string& line) {
  permanent_ += line + "\n";
}

void Progress::waiting(const std::string& what) {
  if (what == waiting_) return;
  waiting_ = what;
  if (!style_.terminal && !what.empty()) say(what);
}

void Progress::on(const StartEvent& event) {
  steps_per_epoch_ = event.steps_per_epoch;
  if (event.epochs) style_.epochs = event.epochs;
  epoch_ = 0;
  step_.reset();
  std::string line;
  append(line, ", ", shown_line(event.model));
  if (event.parameters) {
    std::string parameters = rate(static_cast<double>(*event.parameters)) + " parameters";
    if (event.frozen.value_or(0) > 0)
      parameters += fmt::format(" ({} frozen)", rate(static_cast<double>(*event.frozen)));
    append(line, ", ", parameters);
  }
  if (event.ranks) {
    std::string ranks = counted(*event.ranks, "rank");
    if (event.nodes.value_or(1) > 1) ranks += fmt::format(" on {} nodes", *event.nodes);
    append(line, ", ", ranks);
  }
  if (event.global_batch) append(line, ", ", fmt::format("global batch {}", *event.global_batch));
  if (!line.empty()) say(line);
  if (!event.init_from.empty()) say("weights from " + shown_line(event.init_from));
}

void Progress::begin_epoch(std::int64_t epoch, double time) {
  // A resumed trainer starts in the middle: earlier steps are known only if it reported the steps
  // per epoch.
  epoch_base_ = steps_per_epoch_ ? (epoch - 1) * *steps_per_epoch_ : last_step_;
  epoch_ = epoch;
  epoch_began_s_ = time;
  first_step_ = 0;
  if (style_.terminal) say(epoch_title());
}

void Progress::on(const StepEvent& event) {
  if (event.epoch != epoch_) begin_epoch(event.epoch, event.time);
  if (first_step_ == 0) {
    first_step_ = event.step;
    first_step_s_ = event.time;
  }
  step_ = event;
  last_step_ = event.step;
}

void Progress::on(const EpochEvent& event) {
  if (event.epoch != epoch_) begin_epoch(event.epoch, event.time - event.seconds.value_or(0));
  const double seconds = event.seconds.value_or(event.time - epoch_began_s_);
  if (style_.terminal) {
    std::string line = fmt::format("{:.1f} s", seconds);
    append(line, "  ", epoch_numbers(event, "  "));
    if (const auto steps = epoch_steps()) {
      const std::string count = fmt::format("{0}/{0} ", *steps);
      const std::string full_bar = bar(1, 22) + "  ";
      const bool fits = count.size() + full_bar.size() + line.size() <
                        static_cast<std::size_t>(std::max(0, style_.columns));
      line = count + (fits ? full_bar : " ") + line;
    }
    say(line);
  } else {
    std::string line = epoch_title() + ": ";
    const std::string numbers = epoch_numbers(event, ", ");
    say(line + numbers + (numbers.empty() ? "" : ", ") + fmt::format("{:.1f} s", seconds));
  }
  step_.reset();
  if (steps_per_epoch_) last_step_ = std::max(last_step_, epoch_ * *steps_per_epoch_);
  // The next step event starts a new epoch, even with the same number after a restart.
  epoch_ = 0;
}

void Progress::on(const RanksEvent& event) {
  for (const auto& note : event.notes) say(shown_line(note));
}

void Progress::on(const CheckpointEvent& event) {
  std::string line = "checkpoint " + relative(event.path);
  if (event.seconds_blocked) line += fmt::format(" ({:.2f} s)", *event.seconds_blocked);
  say(dim(line));
}

void Progress::on(const CheckpointFailedEvent& event) {
  constexpr std::size_t most_shown = 300;
  say(fmt::format("no checkpoint of step {}: {}", event.step,
                  first_bytes(shown_line(event.why), most_shown)));
}

void Progress::on(const CheckpointRefusedEvent& event) {
  constexpr std::size_t most_shown = 300;
  say(fmt::format("refused {}: {}", shown_line(relative(event.path)),
                  first_bytes(shown_line(event.why), most_shown)));
}

void Progress::on(const RestartEvent& event) {
  const bool resumed = event.reason == "resume";
  std::string line =
      resumed
          ? "resumed"
          : "restarted: " + (event.reason.empty() ? "reason unknown" : shown_line(event.reason)) +
                ",";
  if (!event.from.empty()) line += " from " + relative(event.from);
  if (line.ends_with(',')) line.pop_back();
  say(line);
}

void Progress::on(const StallEvent& event) {
  if (!event.line.empty()) {
    constexpr std::size_t most_shown = 1000;
    return say(std::string(first_bytes(shown_line(event.line), most_shown)));
  }
  std::string line = "stalled";
  if (!event.collective.empty()) line += " in " + shown_line(event.collective);
  line += event.late_ranks.size() == 1 ? ", waiting for rank " : ", waiting for ranks ";
  line += join_ranks(event.late_ranks);
  if (event.seconds) line += fmt::format(" for {:.0f} s", *event.seconds);
  say(line);
}

/// The times of the epoch and its steps are without it.
void Progress::on(const PauseEvent& event) {
  epoch_began_s_ += event.seconds;
  first_step_s_ += event.seconds;
  say(fmt::format("was suspended or stopped for {:.0f} s", event.seconds));
}

void Progress::on(const EndEvent&) {
  step_.reset();
}

std::string Progress::epoch_title() const {
  const char* word = style_.terminal ? "Epoch" : "epoch";
  if (!style_.epochs) return fmt::format("{} {}", word, epoch_);
  auto epochs = *style_.epochs;
  if (style_.max_steps && steps_per_epoch_.value_or(0) > 0)
    epochs = std::min(epochs, (*style_.max_steps - 1) / *steps_per_epoch_ + 1);
  return fmt::format("{} {}/{}", word, epoch_, std::max(epochs, epoch_));
}

std::optional<std::int64_t> Progress::epoch_steps() const {
  if (!steps_per_epoch_ || !style_.max_steps) return steps_per_epoch_;
  const auto left = *style_.max_steps - epoch_base_;
  return left > 0 ? std::min(*steps_per_epoch_, left) : *steps_per_epoch_;
}

std::string Progress::step_count() const {
  const auto done = step_->step - epoch_base_;
  const auto steps = epoch_steps();
  if (!steps) return fmt::format("step {}", done);
  return fmt::format("{:>{}}/{}", done, std::to_string(*steps).size(), *steps);
}

std::optional<double> Progress::epoch_seconds_left() const {
  const auto steps = epoch_steps();
  if (!steps || step_->step <= first_step_) return std::nullopt;
  const double per_step =
      (step_->time - first_step_s_) / static_cast<double>(step_->step - first_step_);
  const auto left = epoch_base_ + *steps - step_->step;
  return per_step * static_cast<double>(std::max<std::int64_t>(0, left));
}

/// Fits the terminal width: first shortens the bar, then drops the least important numbers.
std::string Progress::live_line() const {
  if (!step_) return waiting_;
  std::vector<std::string> numbers = {named("loss", step_->loss),
                                      named("accuracy", step_->accuracy)};
  const auto left = epoch_seconds_left();
  if (left) numbers.push_back("ETA " + clock_time(*left));
  numbers.push_back(throughput_of(*step_));

  const std::string count = step_count();
  const auto room = static_cast<std::size_t>(std::max(10, style_.columns - 1));
  std::string text;
  for (const auto& number : numbers) {
    if (number.empty()) continue;
    if (count.size() + text.size() + number.size() + 4 > room) break;
    text += "  " + number;
  }
  constexpr std::size_t narrowest_bar = 12;
  constexpr std::size_t widest_bar = 32;
  const std::size_t used = count.size() + text.size() + 1;
  const auto steps = epoch_steps();
  if (!steps || used + narrowest_bar > room) return (count + text).substr(0, room);
  const double done = static_cast<double>(step_->step - epoch_base_) /
                      static_cast<double>(std::max<std::int64_t>(1, *steps));
  const int width = static_cast<int>(std::min(widest_bar, room - used));
  return count + " " + bar(done, width) + text;
}

std::string Progress::heartbeat() const {
  std::string line = fmt::format("{}: step {}", epoch_title(), step_->step - epoch_base_);
  if (const auto steps = epoch_steps()) line += fmt::format("/{}", *steps);
  append(line, ", ", named("loss", step_->loss));
  append(line, ", ", throughput_of(*step_));
  if (const auto left = epoch_seconds_left()) append(line, ", ", "ETA " + clock_time(*left));
  return line;
}

std::string Progress::draw(double now_s) {
  if (!style_.terminal) {
    if (last_line_s_ == 0 || !permanent_.empty()) last_line_s_ = now_s;
    if (step_ && now_s - last_line_s_ >= heartbeat_s) {
      say(heartbeat());
      last_line_s_ = now_s;
    }
    return std::exchange(permanent_, {});
  }
  if (permanent_.empty() && now_s - last_drawn_s_ < redraw_s) return "";
  std::string line = live_line();
  if (permanent_.empty() && line == live_) return "";
  last_drawn_s_ = now_s;
  std::string text(live_.empty() ? "" : erase_line);
  text += std::exchange(permanent_, {}) + line;
  live_ = std::move(line);
  return text;
}

std::string Progress::finish() {
  std::string text(live_.empty() ? "" : erase_line);
  live_.clear();
  step_.reset();
  waiting_.clear();
  return text + std::exchange(permanent_, {});
}

std::string Progress::relative(const std::string& path) const {
  const std::string folder = style_.run_dir + "/";
  return shown_line(path.starts_with(folder) ? path.substr(folder.size()) : path);
}

std::string Progress::dim(const std::string& text) const {
  return style_.color ? "\033[2m" + text + "\033[0m" : text;
}

}  // namespace dllaunch
