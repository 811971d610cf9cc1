// Training progress as text: a Keras-like bar on a terminal, plain lines in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/run/events.hpp"

namespace dllaunch {

struct ProgressStyle {
  bool terminal = false;  // a live line is redrawn in place
  bool color = false;
  int columns = 100;                        // of the terminal
  std::optional<std::int64_t> epochs = {};  // asked for in the job file
  std::string run_dir = {};                 // paths below it are shown relative to it
};

/// Pure: what comes out depends on what was put in and on the times given, on nothing else.
/// Permanent lines are collected between two calls of draw(); the live line stands below them.
class Progress {
 public:
  /// Plain lines say that a long epoch is still alive this often.
  static constexpr double heartbeat_s = 30;
  /// A terminal is redrawn no more often than this.
  static constexpr double redraw_s = 0.1;

  explicit Progress(ProgressStyle style);

  void take(const Event& event);
  /// A permanent line from elsewhere.
  void say(const std::string& line);
  /// What we wait for while there are no events; on no terminal only a change is written.
  void waiting(const std::string& what);

  /// What to write at `now_s`, Unix seconds; empty when there is nothing new to show.
  std::string draw(double now_s);
  /// Removes the live line and writes what is left; lines said later stand alone.
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
  void on(const EndEvent& event);

  void begin_epoch(std::int64_t epoch, double time);
  std::string epoch_title() const;
  std::string step_count() const;
  std::optional<double> epoch_seconds_left() const;
  std::string live_line() const;
  std::string heartbeat() const;
  std::string relative(const std::string& path) const;
  std::string dim(const std::string& text) const;

  ProgressStyle style_;
  std::string permanent_;  // lines not yet written
  std::string live_;       // what stands on the terminal now, empty: nothing
  std::string waiting_;    // shown instead of steps until the first event

  std::optional<StepEvent> step_;  // the last one of the running epoch
  std::int64_t epoch_ = 0;         // 0: none has begun
  double epoch_began_s_ = 0;
  std::int64_t first_step_ = 0;  // first step event of the epoch; earlier ones have no event
  double first_step_s_ = 0;
  std::int64_t last_step_ = 0;   // of all epochs
  std::int64_t epoch_base_ = 0;  // steps done before this epoch
  std::optional<std::int64_t> steps_per_epoch_;
  double last_drawn_s_ = 0;
  double last_line_s_ = 0;  // plain: when something was last written
};

}  // namespace dllaunch
