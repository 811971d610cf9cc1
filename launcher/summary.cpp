#include "launcher/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "launcher/progress.hpp"

namespace dllaunch {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string throughput(double images_per_s, bool first_epoch_excluded) {
  return fmt::format("{} images/s (first epoch {})", rate(images_per_s),
                     first_epoch_excluded ? "excluded" : "included");
}

std::string_view to_string(RunStatus status) {
  constexpr std::array<std::string_view, 7> words = {
      "completed", "failed", "cancelled", "timeout", "preempted", "node_fail", "out_of_memory"};
  return words[static_cast<std::size_t>(status)];
}

void RunLedger::take(const Event& event) {
  const double time = time_of(event);
  if (const auto* checkpoint = std::get_if<CheckpointEvent>(&event)) {
    if (checkpoint->seconds_blocked) {
      blocked_seconds_ += *checkpoint->seconds_blocked;
      return;
    }
  }
  if (std::holds_alternative<CheckpointFailedEvent>(event)) return;
  double since = last_time_ > 0 ? std::max(0.0, time - last_time_) : 0;
  last_time_ = time;
  if (std::holds_alternative<StartEvent>(event)) {
    end_status_.clear();
    stall_.reset();
    blocked_seconds_ = 0;
    first_epoch_comes_ = true;
  }
  if (const auto* step = std::get_if<StepEvent>(&event)) {
    ++steps_;
    const double blocked = std::min(since, blocked_seconds_);
    blocked_seconds_ -= blocked;
    since -= blocked;
    step_seconds_ += since;
    step_images_ += step->images_per_s.value_or(0) * since;
  } else if (const auto* epoch = std::get_if<EpochEvent>(&event)) {
    epochs_ = epoch->epoch;
    if (epoch->val_accuracy) val_accuracy_ = epoch->val_accuracy;
    if (epoch->images_per_s.value_or(0) > 0) {
      Work& work = first_epoch_comes_ ? first_epochs_ : later_epochs_;
      // Epochs of a trainer that does not say have the same images, however many.
      const double images = epoch->images.value_or(1);
      work.images += images;
      work.seconds += images / *epoch->images_per_s;
      first_epoch_comes_ = false;
    }
  } else if (std::holds_alternative<RestartEvent>(event)) {
    ++restarts_;
  } else if (const auto* stall = std::get_if<StallEvent>(&event)) {
    if (!stall_ && stall->state != "died") ++stalls_;
    stall_ = stall->state == "over" ? std::nullopt : std::optional(*stall);
  } else if (const auto* end = std::get_if<EndEvent>(&event)) {
    end_status_ = end->status;
  }
}

void RunLedger::recall(const Event& event) {
  const auto* epoch = std::get_if<EpochEvent>(&event);
  if (epoch == nullptr) return;
  epochs_ = epoch->epoch;
  if (epoch->val_accuracy) val_accuracy_ = epoch->val_accuracy;
}

std::optional<double> RunLedger::images_per_s() const {
  for (const Work& work : {later_epochs_, first_epochs_}) {
    if (work.seconds > 0) return work.images / work.seconds;
  }
  if (step_images_ > 0) return step_images_ / step_seconds_;
  return std::nullopt;
}

Summary summarize(const RunLedger& ledger, RunStatus status, double seconds, int ranks) {
  Summary summary{.status = status, .seconds = seconds, .queue_seconds = {}, .ranks = ranks};
  summary.images_per_s = ledger.images_per_s();
  summary.first_epoch_excluded = ledger.first_epoch_excluded();
  summary.val_accuracy = ledger.val_accuracy();
  summary.restarts = ledger.restarts();
  summary.stalls = ledger.stalls();
  if (ledger.trained() && seconds > 0) {
    summary.goodput = std::clamp(ledger.step_seconds() / seconds, 0.0, 1.0);
  }
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
  const auto add = [&](const char* key, const std::string& words) {
    if (!words.empty()) document[key] = words;
  };
  if (summary.images_per_s) document["first_epoch_excluded"] = summary.first_epoch_excluded;
  if (summary.stalls > 0) document["stalls"] = summary.stalls;
  add("reason", summary.reason);
  add("first_error", summary.first_error);
  add("advice", summary.advice);
  return document;
}

std::string render_summary(const Summary& summary, const SummaryPlaces& places) {
  std::string text(to_string(summary.status));
  text += fmt::format(": {} rank{}", summary.ranks, summary.ranks == 1 ? "" : "s");
  if (summary.epochs) {
    text += fmt::format(", {} epoch{}", *summary.epochs, *summary.epochs == 1 ? "" : "s");
  }
  text += fmt::format(", {:.1f} s", summary.seconds);
  if (summary.queue_seconds) text += fmt::format(" (queued {:.0f} s)", *summary.queue_seconds);
  if (summary.val_accuracy) text += fmt::format(", val_accuracy {:.4f}", *summary.val_accuracy);
  if (summary.images_per_s) {
    text += ", " + throughput(*summary.images_per_s, summary.first_epoch_excluded);
  }
  if (summary.goodput) text += fmt::format(", goodput {:.0f} %", 100 * *summary.goodput);
  if (summary.restarts > 0) text += fmt::format(", restarts {}", summary.restarts);
  if (summary.stalls > 0) text += fmt::format(", stalls {}", summary.stalls);
  text += "\n  run         " + places.run_dir + "\n";
  if (!places.checkpoint.empty()) text += "  checkpoint  " + places.checkpoint + "\n";
  if (summary.status != RunStatus::completed && !places.next.empty()) {
    text += fmt::format("  next        {}   {}\n", places.next,
                        places.checkpoint.empty() ? "starts again" : "goes on from the checkpoint");
  }
  return text;
}

}  // namespace dllaunch
