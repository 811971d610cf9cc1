// The file optuna.journal of a sweep: what happened, in an order that survives any kill.
#pragma once

#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "launcher/os/line_tail.hpp"
#include "launcher/sweep/optuna_records.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Removes the lock of an Optuna that was killed: one of Optuna's that is no older than `since`, by
/// the file system's clock, and that stays for a second.
void remove_lock_of_killed(const std::string& journal, const timespec& since);

/// Other programs may write at the same time: Optuna's samplers and its dashboard. Each takes the
/// lock that Optuna uses: a symbolic link beside the file.
class OptunaJournal {
 public:
  /// Reads what is there, and creates the study if it is not. Call it with the lock of the sweep's
  /// directory: it removes a lock that an earlier driver left. unavailable: the file system
  /// refuses, or another program held the lock for a minute. `say` is told of a lock that it waits
  /// for.
  static Result<OptunaJournal> open(const std::string& path, const std::string& study,
                                    bool minimize,
                                    std::function<void(const std::string&)> say = {});

  /// Takes what others have appended. unavailable: the file is shorter than what was read of it;
  /// append() says the same.
  Result<Ok> read();
  const OptunaReplay& replay() const { return replay_; }

  /// Appends all or, after a power loss, the first of them; durable when this returns. A torn last
  /// line is removed first: Optuna refuses a file with one inside.
  Result<Ok> append(std::span<const Json> records);

 private:
  OptunaJournal(std::string path, std::string study, std::function<void(const std::string&)> say)
      : path_(std::move(path)),
        study_(std::move(study)),
        say_(std::move(say)),
        tail_(path_),
        replay_(study_) {}
  Result<Ok> check_whole() const;

  std::string path_;
  std::string study_;
  std::function<void(const std::string&)> say_;  // may be empty
  LineTail tail_;
  OptunaReplay replay_;
};

}  // namespace dllaunch
