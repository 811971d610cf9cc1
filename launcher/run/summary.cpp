#include "launcher/run/summary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "launcher/base/format.hpp"
#include "launcher/base/shell_quote.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

template <typename Reported>
double tokens_per_image(const Reported& event, double before) {
  const double images_per_s = event.images_per_s.value_or(0);
  return event.tokens_per_s && images_per_s > 0 ? *event.tokens_per_s / images_per_s : before;
}

}  // namespace

std::string throughput(double per_s, bool first_epoch_excluded, std::string_view what) {
  return fmt::format("{} {}/s (first epoch {})", rate(per_s), what,
                     first_epoch_excluded ? "excluded" : "included");
}

std::string_view to_string(RunStatus status) {
  return run_status_names[static_cast<std::size_t>(status)];
}

bool RunTotals::take(const Event& event) {
  if (!history_.take(event)) return false;
  forget_lost_epochs();
  if (std::holds_alternative<StartEvent>(event)) {
    end_status_.clear();
    stall_.reset();
    refused_.clear();
    first_epoch_comes_ = true;
  }
  if (const auto* step = std::get_if<StepEvent>(&event)) {
    ++steps_;
    tokens_per_image_ = tokens_per_image(*step, tokens_per_image_);
    image_seconds_ += history_.latest_seconds();
    step_images_ += step->images_per_s.value_or(0) * history_.latest_seconds();
  } else if (const auto* epoch = std::get_if<EpochEvent>(&event)) {
    finish_epoch(*epoch);
    tokens_per_image_ = tokens_per_image(*epoch, tokens_per_image_);
    if (epoch->images_per_s.value_or(0) > 0) {
      Work& work = first_epoch_comes_ ? first_epochs_ : later_epochs_;
      // If the trainer does not report images, all epochs weigh the same.
      const double images = epoch->images.value_or(1);
      work.images += images;
      work.seconds += images / *epoch->images_per_s;
      first_epoch_comes_ = false;
    }
  } else if (const auto* refused = std::get_if<CheckpointRefusedEvent>(&event)) {
    constexpr std::size_t most_kept = 8;
    if (refused_.size() < most_kept) refused_.push_back(*refused);
  } else if (const auto* stall = std::get_if<StallEvent>(&event)) {
    if (!stall_ && stall->state != "died") ++stalls_;
    stall_ = stall->state == "over" ? std::nullopt : std::optional(*stall);
  } else if (const auto* end = std::get_if<EndEvent>(&event)) {
    end_status_ = end->status;
  }
  return true;
}

void RunTotals::recall(const Event& event) {
  if (!history_.recall(event)) return;
  forget_lost_epochs();
  if (const auto* epoch = std::get_if<EpochEvent>(&event)) finish_epoch(*epoch);
}

void RunTotals::finish_epoch(const EpochEvent& event) {
  if (event.val_perplexity) val_perplexity_ = event.val_perplexity;
  // After a restart from the beginning, the first event may be an epoch's end.
  const auto same = [&] { return event.step && epochs_.back().step >= *event.step; };
  while (!epochs_.empty() && same()) epochs_.pop_back();
  const auto before = val_accuracy();
  if (epochs_.size() == most_epochs) {
    epochs_.erase(epochs_.begin(), epochs_.begin() + most_epochs / 2);
  }
  epochs_.push_back({.epoch = event.epoch,
                     .step = event.step.value_or(0),
                     .val_accuracy = event.val_accuracy ? event.val_accuracy : before});
}

/// Drops epochs after the step that an incarnation continues from.
void RunTotals::forget_lost_epochs() {
  while (!epochs_.empty() && epochs_.back().step > history_.step()) epochs_.pop_back();
}

std::optional<double> RunTotals::goodput(double wall_seconds, double most_seconds) const {
  const double wall = std::max(wall_seconds, std::min(history_.span_seconds(), most_seconds));
  if (!trained() || wall <= 0) return std::nullopt;
  return std::clamp(step_seconds() / wall, 0.0, 1.0);
}

std::optional<double> RunTotals::images_per_s() const {
  for (const Work& work : {later_epochs_, first_epochs_}) {
    if (work.seconds > 0) return work.images / work.seconds;
  }
  if (step_images_ > 0) return step_images_ / image_seconds_;
  return std::nullopt;
}

std::optional<double> RunTotals::tokens_per_s() const {
  const auto images = images_per_s();
  return images && tokens_per_image_ > 0 ? std::optional(*images * tokens_per_image_)
                                         : std::nullopt;
}

RunTotals read_totals(const RunDir& run, double since_s) {
  RunTotals totals;
  EventTail tail(run.events());
  for (auto events = tail.read(); !events.empty(); events = tail.read()) {
    for (const auto& event : events) {
      if (time_of(event) >= since_s) {
        totals.take(event);
      } else {
        totals.recall(event);
      }
    }
  }
  return totals;
}

Summary summarize(const RunTotals& totals, RunStatus status, double seconds, int ranks,
                  double most_seconds) {
  Summary summary{.status = status, .seconds = seconds, .queue_seconds = {}, .ranks = ranks};
  summary.images_per_s = totals.images_per_s();
  summary.tokens_per_s = totals.tokens_per_s();
  summary.val_perplexity = totals.val_perplexity();
  summary.first_epoch_excluded = totals.first_epoch_excluded();
  summary.val_accuracy = totals.val_accuracy();
  summary.restarts = totals.restarts();
  summary.stalls = totals.stalls();
  const History& history = totals.history();
  summary.goodput = totals.goodput(seconds - history.paused_seconds(), most_seconds);
  summary.lost_steps = history.lost_steps();
  summary.lost_seconds = history.lost_seconds();
  summary.restart_list = history.restarts();
  return summary;
}

Json to_json(const Summary& summary) {
  Json document = {{"status", to_string(summary.status)},
                   {"seconds", summary.seconds},
                   {"queue_seconds", or_null(summary.queue_seconds)},
                   {"ranks", summary.ranks},
                   {"epochs", or_null(summary.epochs)},
                   {"images_per_s", or_null(summary.images_per_s)},
                   {"val_accuracy", or_null(summary.val_accuracy)},
                   {"restarts", summary.restarts},
                   {"goodput", or_null(summary.goodput)}};
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) document[key] = text;
  };
  if (summary.planned_ranks > 0) document["planned_ranks"] = summary.planned_ranks;
  for (const auto& [status, count] : summary.tasks)
    document["tasks"][std::string(to_string(status))] = count;
  if (summary.tokens_per_s) document["tokens_per_s"] = *summary.tokens_per_s;
  if (summary.val_perplexity) document["val_perplexity"] = *summary.val_perplexity;
  if (summary.images_per_s) document["first_epoch_excluded"] = summary.first_epoch_excluded;
  if (summary.stalls > 0) document["stalls"] = summary.stalls;
  if (!summary.restart_list.empty()) {
    document["lost_steps"] = summary.lost_steps;
    document["lost_seconds"] = summary.lost_seconds;
    document["restart_list"] = json_of(summary.restart_list);
  }
  add_json(summary.books, document);
  add("submission", summary.submission);
  if (summary.submissions > 1) document["submissions"] = summary.submissions;
  if (summary.unseen) document["unseen"] = true;
  add("reason", summary.reason);
  add("first_error", summary.first_error);
  add("advice", summary.advice);
  return document;
}

namespace {

/// Returns "2 ranks" or "2 of 4 ranks"; for an array "10 tasks" or "10 tasks (8 completed, 2
/// failed)".
std::string what_ended(const Summary& summary) {
  const int planned = summary.planned_ranks;
  if (summary.tasks.empty())
    return planned > 0 ? fmt::format("{} of {}", summary.ranks, counted(planned, "rank"))
                       : counted(summary.ranks, "rank");
  int all = 0;
  std::string how;
  for (const auto& [status, count] : summary.tasks) {
    all += count;
    how += fmt::format("{}{} {}", how.empty() ? "" : ", ", count, to_string(status));
  }
  const std::string tasks = counted(all, "task");
  return summary.status == RunStatus::completed ? tasks : fmt::format("{} ({})", tasks, how);
}

}  // namespace

std::string next_words(const std::string& command, bool has_checkpoint, bool trains) {
  const auto* what = has_checkpoint ? "resumes from the checkpoint"
                     : trains       ? "starts from the beginning"
                                    : "starts the program again";
  return fmt::format("{}   {}", command, what);
}

std::string render_summary(const Summary& summary, const SummaryPlaces& places) {
  std::string text(to_string(summary.status));
  text += ": " + what_ended(summary);
  if (summary.epochs) text += ", " + counted(*summary.epochs, "epoch");
  text += fmt::format(", {:.1f} s", summary.seconds);
  if (summary.queue_seconds) text += fmt::format(" (queued {:.0f} s)", *summary.queue_seconds);
  if (summary.val_accuracy) text += fmt::format(", val_accuracy {:.4f}", *summary.val_accuracy);
  if (summary.val_perplexity)
    text += fmt::format(", val_perplexity {:.4g}", *summary.val_perplexity);
  if (summary.tokens_per_s) {
    text += ", " + throughput(*summary.tokens_per_s, summary.first_epoch_excluded, "tokens");
  } else if (summary.images_per_s) {
    text += ", " + throughput(*summary.images_per_s, summary.first_epoch_excluded);
  }
  if (summary.goodput) text += fmt::format(", goodput {:.0f} %", 100 * *summary.goodput);
  if (summary.restarts > 0) text += fmt::format(", restarts {}", summary.restarts);
  if (summary.lost_steps > 0) text += ", " + counted(summary.lost_steps, "step") + " lost";
  if (summary.stalls > 0) text += fmt::format(", stalls {}", summary.stalls);
  text += "\n  run         " + places.run_dir + "\n";
  if (!summary.tasks.empty())
    text += fmt::format("  logs        {}/task-N/out of task N; all: dllaunch logs {}\n",
                        places.run_dir, shell_quote(places.run_dir));
  if (!places.checkpoint.empty()) text += "  checkpoint  " + places.checkpoint + "\n";
  if (summary.status != RunStatus::completed && !places.next.empty()) {
    text += "  next        " +
            next_words(places.next, !places.checkpoint.empty(), summary.epochs.has_value()) + "\n";
  }
  if (summary.status != RunStatus::completed)
    text += fmt::format("  explain     dllaunch explain {}\n", to_string(summary.status));
  return text;
}

}  // namespace dllaunch
