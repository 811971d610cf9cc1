// What a training tells while it goes on: events.jsonl, tables, and curves for TensorBoard.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/held_folder.hpp"
#include "support/result.hpp"
#include "trainer/reports/csv.hpp"
#include "trainer/reports/events.hpp"
#include "trainer/reports/tensorboard.hpp"
#include "trainer/session/session.hpp"
#include "trainer/session/validation.hpp"

namespace dllaunch {

/// A number of an epoch, named as in the `epoch` event.
struct EpochNumber {
  std::string_view name;
  std::optional<double> value = {};
};
std::vector<EpochNumber> numbers_of(const EpochEvent& event);

/// Everything rank 0 writes about a training but its checkpoints. What a file system refuses is
/// lost and said once for each file; training goes on. Once another life of the run has its
/// directory, nothing more is written; `session` says so. Nor is anything written into another
/// folder that has the directory's name.
class Reports {
 public:
  /// Of every other rank: keeps nothing.
  Reports() = default;
  /// `session` and `warn` must outlive it. unavailable: events.jsonl cannot be opened.
  static Result<Reports> open(const Session& session, const Say& warn, const std::string& host);

  void start(const StartEvent& event);
  void step(const StepEvent& event);
  void epoch(const EpochEvent& event, const EpochRanks& ranks, const EpochGpus& gpus);
  void validation(const Validation& measured);
  void checkpoint(const CheckpointEvent& event);
  void checkpoint_failed(const CheckpointFailedEvent& event);
  void end(std::string_view status, double seconds);

 private:
  /// Whether something may be written at all.
  bool may_write() const;
  void histograms(const EpochEvent& event);
  void note(const Result<Ok>& written, std::string_view file);
  /// The run's directory is the one that the training began in.
  template <typename Write>
  Result<Ok> in_run_dir(Write write) const {
    auto there = run_dir_->check();
    return there ? write() : there;
  }

  EventLog events_;
  std::optional<HeldFolder> run_dir_;
  const Session* session_ = nullptr;
  const Say* warn_ = nullptr;
  std::optional<MetricsCsv> csv_;
  std::optional<TensorBoard> board_;
  double began_s_ = 0;                // Unix seconds, as below
  double step_shown_s_ = 0;           // when a step was last shown on the board
  std::vector<std::string> refused_;  // files whose loss was said
};

}  // namespace dllaunch
