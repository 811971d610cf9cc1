// Training progress as text: a Keras-like bar on a terminal, plain lines in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/run/events.hpp"

namespace dllaunch {

struct ProgressStyle {
  bool terminal = false;  // redraw a live line in place
  bool color = false;
  int columns = 100;                           // of the terminal
  std::optional<std::int64_t> epochs = {};     // requested in the job file
  std::optional<std::int64_t> max_steps = {};  // the same; absent: no limit
  std::string run_dir = {};                    // paths below it are shown relative
};

/// Pure: the output depends only on the input and the given times. Permanent lines are collected
/// between calls of draw(); the live line is below them.
class Progress {
 public:
  /// Interval of plain lines in a long epoch.
  static constexpr double heartbeat_s = 30;
  /// Minimum interval between redraws.
  static constexpr double redraw_s = 0.1;

  explicit Progress(ProgressStyle style);

  void take(const Event& event);
  /// Adds a permanent line.
  void say(const std::string& line);
  /// Sets what is waited for before the first event; without a terminal, only changes are printed.
  void waiting(const std::string& what);

  /// Returns what to print at `now_s`, Unix seconds; empty if nothing is new.
  std::string draw(double now_s);
  /// Returns the rest and removes the live line; later lines stand alone.
  std::string finish();

 private:
  void on(const StartEvent& event);
  void on(const StepEvent& event);
  void on(const EpochEvent& event);
  void on(const RanksEvent& event);
  void on(const CheckpointEvent& event);
  void on(const CheckpointFailedEvent& event);
  void on(const CheckpointRefusedEvent& event);
  void on(const RestartEvent& event);
  void on(const StallEvent& event);
  void on(const PauseEvent& event);
  void on(const EndEvent& event);

  void begin_epoch(std::int64_t epoch, double time);
  std::string epoch_title() const;
  /// The steps of the current epoch, which may be the last and shorter; nullopt: not known.
  std::optional<std::int64_t> epoch_steps() const;
  std::string step_count() const;
  std::optional<double> epoch_seconds_left() const;
  std::string live_line() const;
  std::string heartbeat() const;
  std::string relative(const std::string& path) const;
  std::string dim(const std::string& text) const;

  ProgressStyle style_;
  std::string permanent_;  // lines not printed yet
  std::string live_;       // live line now on the terminal; empty: none
  std::string waiting_;    // shown instead of steps until the first event

  std::optional<StepEvent> step_;  // latest of the current epoch
  std::int64_t epoch_ = 0;         // 0: none yet
  double epoch_began_s_ = 0;
  std::int64_t first_step_ = 0;  // first step event of the epoch; earlier ones have no event
  double first_step_s_ = 0;
  std::int64_t last_step_ = 0;   // over all epochs
  std::int64_t epoch_base_ = 0;  // steps done before this epoch
  std::optional<std::int64_t> steps_per_epoch_;
  double last_drawn_s_ = 0;
  double last_line_s_ = 0;  // plain: time of the last line
};

}  // namespace dllaunch
