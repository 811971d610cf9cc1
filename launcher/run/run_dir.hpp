// A run's directory: where everything of one run lies (contract.md "A run's directory").
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "support/result.hpp"

namespace dllaunch {

struct RunDir {
  std::string path;      // absolute
  bool resumed = false;  // it held an earlier run of the same job
  std::string id = {};   // tells it from another one of the same path; empty: not known

  std::string job_yaml() const { return path + "/job.yaml"; }
  std::string train_json() const { return path + "/train.json"; }
  std::string plan_json() const { return path + "/plan.json"; }
  std::string sbatch_script() const { return path + "/job.sbatch"; }
  std::string out() const { return path + "/out"; }
  std::string events() const { return path + "/events.jsonl"; }
  std::string checkpoints() const { return path + "/checkpoints"; }
  std::string job_id() const { return path + "/job.id"; }      // of the last Slurm job
  std::string job_json() const { return path + "/job.json"; }  // of the same, job_identity.hpp
  std::string summary() const { return path + "/summary.json"; }
};

/// A job's name as the beginning of a folder's: everything but letters, digits, dot, dash and
/// underscore replaced.
std::string safe_run_name(const std::string& name);

/// The path a new run would get: runs/NAME-YYYYmmdd-HHMMSS-XXXX below the current folder, NAME made
/// safe. Makes nothing.
std::string new_run_path(const std::string& name);

/// RUN/.run-id; empty: there is none, or it cannot be read.
std::string read_run_id(const std::string& path);

/// Makes the directory, closed to other users, with an id. bad_request: not writable.
Result<RunDir> make_run_dir(const std::string& path);

/// Lets the directory's group read the run, or from now on nobody. bad_request: the file system
/// refuses.
Result<Ok> share_run_dir(const RunDir& run, bool share);

/// Held while a run is followed or executed from here; let go by the kernel when we die.
class RunLock {
 public:
  /// bad_request: another dllaunch holds it.
  static Result<RunLock> take(const RunDir& run);

  /// Writes into the lock who holds it: this process, after a fork the child.
  void sign() const;

  RunLock(RunLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RunLock& operator=(RunLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~RunLock();

 private:
  explicit RunLock(int fd) : fd_(fd) {}
  int fd_;
};

/// Takes an earlier run's summary away: what runs now will write its own.
void forget_summary(const RunDir& run);

/// The dllaunch that holds a run's lock.
struct RunLockHolder {
  pid_t pid = 0;          // 0: an older version that did not sign
  std::string host = {};  // where the pid means something
  double since_s = 0;     // Unix seconds
};

/// Nothing when nobody holds the lock.
std::optional<RunLockHolder> owner_of(const RunDir& run);

/// The newest complete checkpoint, empty when there is none: their names sort by step.
std::string newest_checkpoint(const RunDir& run);

}  // namespace dllaunch
