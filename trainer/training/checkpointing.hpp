// Decides when training writes a checkpoint, and reports the result.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/communicators/communicator.hpp"
#include "support/awake_clock.hpp"
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

/// Exists on every rank; only rank 0 writes and knows the results.
class Checkpointing {
 public:
  /// All arguments but the options must outlive this.
  Checkpointing(const Session& session, Communicator& communicator, Reports& reports,
                CheckpointingOptions options);

  /// On rank 0: whether the configured minutes have passed and no write is in progress.
  bool due_by_time() const;

  /// Returns whether to save the epoch that has just ended. `whole`: it was not cut short.
  /// Collective with `checkpoint.best`.
  bool due_after(const EpochEvent& epoch, bool whole);

  /// Takes a snapshot, which is written in the background. The last one is complete when this
  /// returns. An Error, on all ranks, ends the training: the last checkpoint failed, or
  /// `checkpoint.on_error` says so. Collective, after gathering the optimiser state.
  Result<Ok> save(bool last);

  /// Reports the result of the latest write, if it is known. An Error must end the training.
  std::optional<Error> look();

  /// Waits for the write in progress, if any, and reports its result.
  void finish();

 private:
  using Clock = AwakeClock;

  /// Returns false, and reports that this checkpoint is skipped, if the one before takes too long.
  bool wait_for_earlier(bool last);
  std::optional<Error> begin(bool last, Clock::time_point start,
                             std::optional<GatheredTensors> tensors);
  std::optional<Error> tell(FinishedWrite finished, bool last = false);
  void tell_failure(std::int64_t epoch, std::int64_t step, const Error& error, bool goes_on);
  void choose_interval(double save_s);
  Checkpoint snapshot_with_metrics(std::optional<GatheredTensors> tensors) const;

  const Session& session_;
  const CheckpointConfig& config_;
  Communicator& communicator_;
  Reports& reports_;
  CheckpointingOptions options_;
  std::unique_ptr<CheckpointWriter> writer_;  // on rank 0
  std::optional<double> interval_s_;
  double said_interval_s_ = 0;  // last one logged; 0: none
  Clock::time_point last_save_ = Clock::now();
  std::int64_t metrics_step_ = -1;
  std::map<std::string, double> metrics_;  // at metrics_step_
  std::optional<double> best_;             // on disk
  bool said_unmeasured_ = false;           // logged that checkpoint.best is never measured
};

}  // namespace dllaunch
