// Everything a training reports: events.jsonl, CSV files and TensorBoard.
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

/// A metric of an epoch, named as in the `epoch` event.
struct EpochNumber {
  std::string_view name;
  std::optional<double> value = {};
};
std::vector<EpochNumber> numbers_of(const EpochEvent& event);

/// Writes all of rank 0's files except checkpoints. Training continues after an I/O error, which is
/// logged once per file. Writes nothing after another incarnation has taken over the run directory
/// (see `session`), or if another folder now has the directory's name.
class Reports {
 public:
  /// For ranks other than 0: discards everything.
  Reports() = default;
  /// `session` and `warn` must outlive this. unavailable: events.jsonl cannot be opened.
  static Result<Reports> open(const Session& session, const Say& warn, const std::string& host);

  void start(const StartEvent& event);
  void step(const StepEvent& event);
  void epoch(const EpochEvent& event, const EpochRanks& ranks, const EpochGpus& gpus);
  void validation(const Validation& measured);
  void checkpoint(const CheckpointEvent& event);
  void checkpoint_failed(const CheckpointFailedEvent& event);
  void corrupted(const CorruptedEvent& event);
  void end(std::string_view status, double seconds);

 private:
  /// Returns whether this process may still write.
  bool may_write() const;
  void histograms(const EpochEvent& event);
  void note(const Result<Ok>& written, std::string_view file);
  /// Runs `write` only if the run directory is the one that training started in.
  template <typename Write>
  Result<Ok> in_run_dir(Write write) const {
    auto there = run_dir_->check();
    return there ? write() : there;
  }

  EventLog events_;
  std::optional<HeldFolder> run_dir_;
  const Session* session_ = nullptr;
  const Say* warn_ = nullptr;
  std::optional<EpochTable> csv_;
  std::optional<EpochTable> ranks_csv_;
  std::optional<TensorBoard> board_;
  double began_s_ = 0;                // Unix time, like the next
  double step_shown_s_ = 0;           // when a step was last written to TensorBoard
  std::vector<std::string> refused_;  // files with a logged error
};

}  // namespace dllaunch
