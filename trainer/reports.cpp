#include "trainer/reports.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trainer/report_file.hpp"

namespace dllaunch {

std::vector<EpochNumber> numbers_of(const EpochEvent& event) {
  return {{"step", static_cast<double>(event.step)},
          {"loss", event.loss},
          {"accuracy", event.accuracy},
          {"val_loss", event.val_loss},
          {"val_accuracy", event.val_accuracy},
          {"val_top5_accuracy", event.val_top5_accuracy},
          {"val_f1_macro", event.val_f1_macro},
          {"lr", event.lr},
          {"seconds", event.seconds},
          {"images_per_s", event.images_per_s}};
}

Result<Reports> Reports::open(const Session& session, const Say& warn) {
  Reports reports;
  auto events = EventLog::open(session.run_dir / "events.jsonl");
  if (!events) return std::move(events).error();
  reports.events_ = *std::move(events);
  reports.session_ = &session;
  reports.warn_ = &warn;
  if (session.config.reports.csv) {
    std::vector<std::string_view> columns;
    for (const EpochNumber& number : numbers_of({})) columns.push_back(number.name);
    reports.csv_.emplace(session.run_dir / "metrics.csv", columns);
  }
  return reports;
}

void Reports::start(const StartEvent& event) {
  events_.start(event);
  if (session_ != nullptr && !session_->resumed_from.empty()) {
    events_.restart("resume", session_->resumed_from);
  }
}

void Reports::step(const StepEvent& event) {
  events_.step(event);
}

void Reports::epoch(const EpochEvent& event, const EpochRanks& ranks) {
  events_.epoch(event);
  events_.ranks(event.epoch, ranks);
  if (!csv_) return;
  std::vector<std::optional<double>> values;
  for (const EpochNumber& number : numbers_of(event)) values.push_back(number.value);
  note(csv_->append(event.epoch, values), "metrics.csv");
}

void Reports::validation(const Validation& measured) {
  if (!csv_) return;
  const auto& names = session_->dataset->class_names();
  note(replace_file(session_->run_dir / "classes.csv", render_classes(measured.metrics, names)),
       "classes.csv");
  if (!measured.metrics.has_matrix()) return;
  note(replace_file(session_->run_dir / "confusion.csv", render_confusion(measured.metrics, names)),
       "confusion.csv");
}

void Reports::checkpoint(const CheckpointEvent& event) {
  events_.checkpoint(event);
}

void Reports::end(std::string_view status, double seconds) {
  events_.end(status, seconds);
}

void Reports::note(const Result<Ok>& written, std::string_view file) {
  if (written || std::ranges::find(refused_, file) != refused_.end()) return;
  refused_.emplace_back(file);
  (*warn_)(fmt::format("{} loses what comes: {}", file, written.error().what));
}

}  // namespace dllaunch
