#include "trainer/checkpoints/checkpoint_writer.hpp"

#include <cassert>
#include <exception>
#include <utility>

namespace dllaunch {
namespace {

using Seconds = std::chrono::duration<double>;

double seconds_since(CheckpointWriter::Clock::time_point start) {
  return Seconds(CheckpointWriter::Clock::now() - start).count();
}

}  // namespace

CheckpointWriter::~CheckpointWriter() {
  wait();
  if (thread_.joinable()) thread_.join();
}

bool CheckpointWriter::busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

bool CheckpointWriter::wait(std::optional<double> at_most_s) {
  std::unique_lock lock(mutex_);
  if (!busy_) return true;
  hurried_ = true;
  changed_.notify_all();
  const auto idle = [this] { return !busy_; };
  if (at_most_s) return changed_.wait_for(lock, Seconds(*at_most_s), idle);
  changed_.wait(lock, idle);
  return true;
}

void CheckpointWriter::begin(Checkpoint checkpoint, Clock::time_point since) {
  assert(!busy());
  if (thread_.joinable()) thread_.join();
  busy_ = true;
  hurried_ = false;
  finished_.reset();
  const double blocked_s = seconds_since(since);
  thread_ = std::thread([this, since, blocked_s, checkpoint = std::move(checkpoint)]() mutable {
    const TrainPosition at = checkpoint.position;
    auto metrics = checkpoint.metrics;
    auto written = write(std::move(checkpoint));
    const std::lock_guard lock(mutex_);
    finished_.emplace(FinishedWrite{.epoch = at.epoch,
                                    .step = at.step,
                                    .seconds_blocked = blocked_s,
                                    .seconds_total = seconds_since(since),
                                    .metrics = std::move(metrics),
                                    .written = std::move(written)});
    busy_ = false;
    changed_.notify_all();
  });
}

std::optional<FinishedWrite> CheckpointWriter::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, std::nullopt);
}

Result<WrittenCheckpoint> CheckpointWriter::write(Checkpoint checkpoint) {
  const auto start = std::chrono::steady_clock::now();
  double bytes = 0;
  const auto hold_back = [&](std::size_t more) {
    bytes += static_cast<double>(more);
    if (options_.bytes_per_s <= 0) return;
    std::unique_lock lock(mutex_);
    const auto due =
        start + std::chrono::duration_cast<Clock::duration>(Seconds(bytes / options_.bytes_per_s));
    changed_.wait_until(lock, due, [this] { return hurried_; });
  };
  try {
    return write_checkpoint(options_.folder, std::move(checkpoint), options_.retention, hold_back,
                            options_.right);
  } catch (const std::exception& problem) {  // usually out of memory
    return Error{ErrorKind::unavailable, problem.what(), ""};
  }
}

}  // namespace dllaunch
