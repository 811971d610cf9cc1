// When a training saves itself, and what comes of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "trainer/checkpoints/checkpoint_writer.hpp"
#include "trainer/session/session.hpp"
#include "trainer/training/reports.hpp"

namespace dllaunch {

struct CheckpointingOptions {
  int nodes = 1;
  Say say = [](std::string_view) {};
  Say warn = [](std::string_view) {};
};

/// On every rank; rank 0 alone writes, and hears what became of it.
class Checkpointing {
 public:
  /// All but the options must outlive it.
  Checkpointing(const Session& session, Communicator& communicator, Reports& reports,
                CheckpointingOptions options);

  /// On rank 0: so many minutes have passed, and no write is under way.
  bool due_by_time() const;

  /// Collective where `checkpoint.best` is asked for: whether the epoch that has just ended shall
  /// be saved. `whole`: it was not cut short.
  bool due_after(const EpochEvent& epoch, bool whole);

  /// Collective, with the states gathered: takes a snapshot, which is written while training goes
  /// on. The last one of a training is there when this returns. An Error, on all ranks, ends the
  /// training: of the last one, or as `checkpoint.on_error` says.
  Result<Ok> save(bool last);

  /// Tells what became of the latest write, if that is known by now. An Error: this shall end the
  /// training.
  std::optional<Error> look();

  /// Waits for the write that is under way, if any, and tells of it.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::optional<Error> begin(bool last);
  std::optional<Error> tell(FinishedWrite finished, bool last = false);
  void tell_failure(std::int64_t epoch, std::int64_t step, const Error& error, bool goes_on);
  void choose_interval(double save_s);
  Checkpoint snapshot_with_metrics() const;

  const Session& session_;
  const CheckpointConfig& config_;
  Communicator& communicator_;
  Reports& reports_;
  CheckpointingOptions options_;
  std::unique_ptr<CheckpointWriter> writer_;  // on rank 0
  std::optional<double> interval_s_;
  double said_interval_s_ = 0;  // 0: nothing
  Clock::time_point last_save_ = Clock::now();
  std::int64_t metrics_step_ = -1;
  std::map<std::string, double> metrics_;  // after metrics_step_
  std::optional<double> best_;             // on disk
  bool said_unmeasured_ = false;           // that checkpoint.best is never measured
};

}  // namespace dllaunch
