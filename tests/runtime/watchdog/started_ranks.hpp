// Real ranks that a test starts, stops and kills, with their output line by line.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

class StartedRanks {
 public:
  using Clock = std::chrono::steady_clock;
  struct Line {
    std::string text;
    Clock::time_point at;
  };

  /// `argv` starts `ranks` ranks of stalling_ranks.
  StartedRanks(int ranks, const std::vector<std::string>& argv);
  /// Kills all that is still alive.
  ~StartedRanks();
  StartedRanks(const StartedRanks&) = delete;
  StartedRanks& operator=(const StartedRanks&) = delete;

  /// Waits until every rank has printed its process id. False: not within 60 s.
  bool are_up();
  pid_t process_of(int rank) const { return processes_[static_cast<std::size_t>(rank)]; }
  pid_t starter() const { return starter_; }

  /// Returns the first line since `from` for which `wanted` holds, including lines read before.
  std::optional<Line> find_line(const std::function<bool(const std::string&)>& wanted,
                                Clock::time_point from, Clock::time_point until);
  /// Reads output for `time`.
  void listen(std::chrono::milliseconds time);

  /// The launcher's exit code, 128+n for a signal; nullopt: still running after `limit`.
  std::optional<int> wait(std::chrono::seconds limit);
  /// Whether all ranks and the launcher are gone within `limit`.
  bool all_gone(std::chrono::milliseconds limit);
  bool ranks_gone(std::chrono::milliseconds limit);

  std::string text() const;

 private:
  void read(std::chrono::milliseconds patience);
  void take(const std::string& line);

  TemporaryFolder session_;  // TMPDIR: an mpirun that is killed leaves its session there
  std::vector<pid_t> processes_;
  pid_t starter_ = -1;
  int output_ = -1;
  std::optional<int> code_;
  std::string rest_;
  std::vector<Line> lines_;
};

/// The mpirun command for `ranks` stalling_ranks on this machine.
std::vector<std::string> on_this_machine(int ranks, std::vector<std::string> command);
std::string stalling_ranks_program();
bool has_mpirun();

}  // namespace dllaunch
