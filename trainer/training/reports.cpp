#include "trainer/training/reports.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "trainer/reports/parameter_histograms.hpp"
#include "trainer/reports/rank_columns.hpp"
#include "trainer/reports/report_file.hpp"

namespace dllaunch {
namespace {

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

std::vector<EpochNumber> numbers_of(const EpochEvent& event) {
  std::vector<EpochNumber> numbers{{"step", static_cast<double>(event.step)},
                                   {"loss", event.loss},
                                   {"accuracy", event.accuracy},
                                   {"val_loss", event.val_loss},
                                   {"val_accuracy", event.val_accuracy},
                                   {"val_top5_accuracy", event.val_top5_accuracy},
                                   {"val_f1_macro", event.val_f1_macro},
                                   {"val_f1_micro", event.val_f1_micro},
                                   {"val_mean_absolute_error", event.val_mean_absolute_error},
                                   {"val_mean_squared_error", event.val_mean_squared_error},
                                   {"lr", event.lr},
                                   {"seconds", event.seconds},
                                   {"images_per_s", event.images_per_s}};
  if (event.tokens_per_s) {
    numbers.push_back({"tokens_per_s", event.tokens_per_s});
    numbers.push_back({"perplexity", event.perplexity});
    numbers.push_back({"val_perplexity", event.val_perplexity});
  }
  return numbers;
}

Result<Reports> Reports::open(const Session& session, const Say& warn, const std::string& host) {
  Reports reports;
  reports.run_dir_.emplace(session.run_dir);
  auto events = EventLog::open(session.run_dir / "events.jsonl", session.fencing_token());
  if (!events) return std::move(events).error();
  reports.events_ = *std::move(events);
  reports.session_ = &session;
  reports.warn_ = &warn;
  if (session.config.reports.csv) {
    std::vector<std::string_view> columns;
    EpochEvent event;
    event.tokens_per_s = session.tokens_of(0);
    for (const EpochNumber& number : numbers_of(event)) columns.push_back(number.name);
    reports.csv_.emplace(session.run_dir / "metrics.csv", columns);
    reports.ranks_csv_.emplace(session.run_dir / "ranks.csv", rank_csv_columns());
  }
  if (session.config.reports.tensorboard) {
    auto board = TensorBoard::open(session.run_dir / "tensorboard", host);
    if (board) {
      reports.board_ = *std::move(board);
    } else {
      reports.note(std::move(board).error(), "tensorboard");
    }
  }
  return reports;
}

bool Reports::may_write() const {
  return session_ != nullptr && !session_->taken_over();
}

void Reports::start(const StartEvent& event) {
  if (!may_write()) return;
  events_.start(event);
  for (const auto& [path, why] : session_->refused) events_.checkpoint_refused(path.string(), why);
  if (!session_->resumed_from.empty()) {
    events_.restart("resume", session_->resumed_from, session_->position.step);
  }
  if (!board_) return;
  began_s_ = unix_seconds();
  const std::int64_t step = session_->position.step;
  auto settings = session_->config.settings;
  settings.push_back({"ranks", static_cast<double>(event.ranks)});
  settings.push_back({"global_batch", static_cast<double>(event.global_batch)});
  settings.push_back({"parameters", static_cast<double>(event.parameters)});
  note(board_->write(version_record(began_s_) + begin_record(began_s_, step + 1) +
                     settings_record(began_s_, step, settings)),
       "tensorboard");
}

void Reports::step(const StepEvent& event) {
  if (!may_write()) return;
  events_.step(event);
  if (!board_) return;
  // At most once per thousandth of the elapsed time: as fine as TensorBoard draws, and the file
  // stays small.
  const double now_s = unix_seconds();
  if (now_s - step_shown_s_ < (now_s - began_s_) / 1000) return;
  step_shown_s_ = now_s;
  std::vector<Scalar> scalars{
      {"step/loss", event.loss}, {"step/lr", event.lr}, {"step/images_per_s", event.images_per_s}};
  if (event.tokens_per_s) scalars.push_back({"step/tokens_per_s", *event.tokens_per_s});
  note(board_->write(scalars_record(now_s, event.step, scalars)), "tensorboard");
}

void Reports::epoch(const EpochEvent& event, const EpochRanks& ranks, const EpochGpus& gpus) {
  if (!may_write()) return;
  events_.epoch(event);
  events_.ranks(event.epoch, ranks);
  events_.gpus(event.epoch, gpus);
  const auto numbers = numbers_of(event);
  const std::string rows = ranks_csv_ ? rank_rows(event.epoch, ranks) : "";
  if (!rows.empty()) {
    note(in_run_dir([&] { return ranks_csv_->append(event.epoch, rows); }), "ranks.csv");
  }
  if (csv_) {
    std::vector<std::optional<double>> values(numbers.size());
    std::ranges::transform(numbers, values.begin(), &EpochNumber::value);
    note(in_run_dir([&] { return csv_->append(event.epoch, values); }), "metrics.csv");
  }
  if (board_) {
    std::vector<Scalar> scalars{{"epoch", static_cast<double>(event.epoch)}};
    for (const EpochNumber& number : numbers) {
      if (number.value && number.name != "step") {
        scalars.push_back({std::string(number.name), *number.value});
      }
    }
    std::ranges::move(gpu_scalars(gpus), std::back_inserter(scalars));
    note(board_->write(scalars_record(unix_seconds(), event.step, scalars)), "tensorboard");
    histograms(event);
  }
}

void Reports::histograms(const EpochEvent& event) {
  const std::int64_t every = session_->config.reports.histograms_every;
  if (every == 0 || (event.epoch % every != 0 && !session_->finished())) return;
  const auto found = parameter_histograms(*session_->executable, *session_->arenas,
                                          /*stepped=*/event.images > 0);
  note(board_->write(histograms_record(unix_seconds(), event.step, found)), "tensorboard");
}

void Reports::validation(const Validation& measured) {
  if (!may_write() || !csv_ || session_->judged == TargetKind::values) return;
  if (measured.tokens > 0) return;
  const auto& names = session_->dataset->class_names();
  const auto replace = [this](const char* file, const std::string& text) {
    note(in_run_dir([&] { return replace_file(session_->run_dir / file, text); }), file);
  };
  replace("classes.csv", render_classes(measured.metrics, names));
  if (!measured.metrics.has_matrix()) return;
  replace("confusion.csv", render_confusion(measured.metrics, names));
}

void Reports::checkpoint(const CheckpointEvent& event) {
  if (may_write()) events_.checkpoint(event);
}

void Reports::checkpoint_failed(const CheckpointFailedEvent& event) {
  if (may_write()) events_.checkpoint_failed(event);
}

void Reports::corrupted(const CorruptedEvent& event) {
  if (may_write()) events_.corrupted(event);
}

void Reports::end(std::string_view status, double seconds) {
  if (may_write()) events_.end(status, seconds);
}

void Reports::note(const Result<Ok>& written, std::string_view file) {
  if (written || std::ranges::find(refused_, file) != refused_.end()) return;
  refused_.emplace_back(file);
  (*warn_)(fmt::format("{} is incomplete from here on: {}", file, written.error().what));
}

}  // namespace dllaunch
