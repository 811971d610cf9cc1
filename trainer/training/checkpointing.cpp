#include "trainer/training/checkpointing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "support/counted.hpp"
#include "support/held_folder.hpp"
#include "trainer/checkpoints/checkpoint_interval.hpp"
#include "trainer/checkpoints/checkpoint_retention.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/model_tensors.hpp"

namespace dllaunch {
namespace {

/// Used until the duration of a checkpoint is known.
constexpr double first_interval_s = 60;

std::map<std::string, double> metrics_of(const EpochEvent& epoch) {
  std::map<std::string, double> metrics;
  for (const EpochNumber& number : numbers_of(epoch)) {
    const auto same = [&](const CheckpointMetric& metric) { return metric.name == number.name; };
    if (number.value && std::isfinite(*number.value) &&
        std::ranges::any_of(checkpoint_metrics(), same)) {
      metrics[std::string(number.name)] = *number.value;
    }
  }
  return metrics;
}

WriteRight right_of(const Session& session) {
  return {.fencing_token = session.fencing_token(),
          .check = [fence = session.fence, folder = HeldFolder(session.run_dir)] {
            auto there = folder.check();
            return there && fence != nullptr ? fence->check() : there;
          }};
}

}  // namespace

Checkpointing::Checkpointing(const Session& session, Communicator& communicator, Reports& reports,
                             CheckpointingOptions options)
    : session_(session),
      config_(session.config.checkpoint),
      communicator_(communicator),
      reports_(reports),
      options_(std::move(options)) {
  if (communicator.rank() != 0) return;
  const auto folder = session.checkpoints();
  writer_ = std::make_unique<CheckpointWriter>(
      CheckpointWriterOptions{.folder = folder,
                              .retention = {.keep = config_.keep, .best = config_.best},
                              .bytes_per_s = config_.mb_per_s.value_or(0) * 1e6,
                              .right = right_of(session)});
  if (config_.every_minutes) interval_s_ = *config_.every_minutes * 60;
  if (config_.every_auto) interval_s_ = first_interval_s;
  if (config_.best.empty()) return;
  const auto newest = fmt::format("step-{:08}", session.position.step);
  if (auto found = find_best_checkpoint(folder, config_.best, newest)) best_ = found->value;
}

bool Checkpointing::due_by_time() const {
  if (!writer_ || !interval_s_) return false;
  const std::chrono::duration<double> since = Clock::now() - last_save_;
  return since.count() >= *interval_s_ && !writer_->busy();
}

bool Checkpointing::due_after(const EpochEvent& epoch, bool whole) {
  metrics_ = metrics_of(epoch);
  metrics_step_ = epoch.step;
  const bool counted = config_.every_epochs && whole && epoch.epoch % *config_.every_epochs == 0;
  if (config_.best.empty()) return counted;
  std::int64_t better = 0;
  if (const auto found = metrics_.find(config_.best); found != metrics_.end()) {
    better = !best_ || is_better(config_.best, found->second, *best_) ? 1 : 0;
  } else if (writer_ && !said_unmeasured_ &&
             (epoch.val_loss || !config_.best.starts_with("val_"))) {
    said_unmeasured_ = true;
    options_.warn(
        fmt::format("checkpoint.best: {} is not a metric of this data set and loss: no best "
                    "checkpoint is kept",
                    config_.best));
  }
  // Only rank 0 knows what is on disk.
  communicator_.wait(communicator_.broadcast(&better, 1, DType::i64, /*root=*/0));
  return counted || better != 0;
}

Result<Ok> Checkpointing::save(bool last) {
  const auto start = Clock::now();
  std::int64_t ready = wait_for_earlier(last) ? 1 : 0;
  std::optional<GatheredTensors> gathered;
  if (session_.in_step()) {
    // Not beside those of a checkpoint that is still being written.
    communicator_.wait(communicator_.broadcast(&ready, 1, DType::i64, /*root=*/0));
    if (ready != 0) gathered = checkpoint_tensors(session_);
  }
  std::optional<Error> error;
  if (writer_ && ready != 0) error = begin(last, start, std::move(gathered));
  last_save_ = Clock::now();
  if (auto agreed = agree(communicator_, std::move(error))) return *std::move(agreed);
  return Ok{};
}

std::optional<Error> Checkpointing::look() {
  if (!writer_) return std::nullopt;
  auto finished = writer_->take();
  return finished ? tell(*std::move(finished)) : std::nullopt;
}

void Checkpointing::finish() {
  if (!writer_) return;
  writer_->wait();
  look();
}

bool Checkpointing::wait_for_earlier(bool last) {
  if (!writer_ || writer_->wait(last ? std::nullopt : config_.wait_seconds)) return true;
  const Error late{ErrorKind::timeout,
                   fmt::format("skipped: the previous one is still being written after {} s",
                               *config_.wait_seconds),
                   ""};
  tell_failure(session_.position.epoch, session_.position.step, late, /*goes_on=*/true);
  return false;
}

std::optional<Error> Checkpointing::begin(bool last, Clock::time_point start,
                                          std::optional<GatheredTensors> tensors) {
  auto earlier = look();
  if (earlier && !last) return earlier;
  writer_->begin(snapshot_with_metrics(std::move(tensors)), start);
  if (!last) return std::nullopt;
  writer_->wait();
  FinishedWrite finished = *writer_->take();
  finished.seconds_blocked = finished.seconds_total;
  return tell(std::move(finished), last);
}

Checkpoint Checkpointing::snapshot_with_metrics(std::optional<GatheredTensors> tensors) const {
  Checkpoint checkpoint =
      snapshot(session_, tensors ? *std::move(tensors) : checkpoint_tensors(session_));
  if (metrics_step_ == session_.position.step) checkpoint.metrics = metrics_;
  return checkpoint;
}

std::optional<Error> Checkpointing::tell(FinishedWrite finished, bool last) {
  if (!finished.written) {
    // The run directory belongs to another process: not a disk error, nothing to report.
    if (auto taken_over = session_.taken_over()) return taken_over;
    // Without its last checkpoint the training would be lost.
    const bool goes_on = !last && !config_.stop_on_error;
    tell_failure(finished.epoch, finished.step, finished.written.error(), goes_on);
    if (goes_on) return std::nullopt;
    return std::move(finished.written).error();
  }
  const WrittenCheckpoint& written = *finished.written;
  reports_.checkpoint({.path = written.path.string(),
                       .epoch = finished.epoch,
                       .step = finished.step,
                       .seconds_blocked = finished.seconds_blocked,
                       .seconds_total = finished.seconds_total,
                       .bytes = written.bytes});
  std::string best;
  if (written.best) {
    best_ = finished.metrics.at(config_.best);
    best = fmt::format(", best {} so far: {}", config_.best, four_decimals(*best_));
  }
  options_.say(fmt::format("checkpoint {} ({:.1f} MB in {:.2f} s, training waited {:.2f} s{})",
                           written.path.string(), static_cast<double>(written.bytes) / 1e6,
                           finished.seconds_total, finished.seconds_blocked, best));
  if (!last) choose_interval(finished.seconds_total);
  return std::nullopt;
}

void Checkpointing::tell_failure(std::int64_t epoch, std::int64_t step, const Error& error,
                                 bool goes_on) {
  reports_.checkpoint_failed({.epoch = epoch, .step = step, .why = error.what});
  if (!goes_on) return;
  options_.warn(fmt::format("checkpoint of step {}: {}; training continues", step, error.what));
}

void Checkpointing::choose_interval(double save_s) {
  if (!config_.every_auto) return;
  const double mtbf_s = job_mtbf_s(config_.mtbf_hours, options_.nodes);
  interval_s_ = best_interval_s(save_s, mtbf_s);
  // Durations vary; small changes are not logged again.
  const double ratio = said_interval_s_ > 0 ? *interval_s_ / said_interval_s_ : 0;
  if (ratio > 0.5 && ratio < 2) return;
  said_interval_s_ = *interval_s_;
  options_.say(render_interval(*interval_s_, save_s, mtbf_s));
}

}  // namespace dllaunch
