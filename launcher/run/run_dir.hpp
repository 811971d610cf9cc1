// A run's directory: the paths of a run's files, its id and its lock.
// It does not interpret the files; stored_run.hpp, journal.hpp and events.hpp do.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "support/result.hpp"

namespace dllaunch {

struct RunDir {
  std::string path;      // absolute
  bool resumed = false;  // it holds an earlier run of the same job
  std::string id = {};   // distinguishes runs of the same path; empty: unknown

  std::string job_yaml() const { return path + "/job.yaml"; }
  std::string train_json() const { return path + "/train.json"; }
  std::string plan_json() const { return path + "/plan.json"; }
  std::string sbatch_script() const { return path + "/job.sbatch"; }
  std::string out() const { return path + "/out"; }
  std::string events() const { return path + "/events.jsonl"; }
  std::string checkpoints() const { return path + "/checkpoints"; }
  std::string job_id() const { return path + "/job.id"; }  // of the last Slurm job
  // of the same job, see job_identity.hpp
  std::string job_json() const { return path + "/job.json"; }
  std::string summary() const { return path + "/summary.json"; }
  // of the submission before, with the totals of all until then
  std::string earlier_summary() const { return path + "/summary.before.json"; }
};

/// Returns a job name usable in a directory name: characters other than letters, digits, dot, dash
/// and underscore are replaced.
std::string safe_run_name(const std::string& name);

/// Returns the path for a new run: runs/NAME-YYYYmmdd-HHMMSS-XXXX below the current directory.
/// Creates nothing.
std::string new_run_path(const std::string& name);

/// Returns the content of RUN/.run-id; empty: missing or unreadable.
std::string read_run_id(const std::string& path);

/// Creates the directory, private to the user, with an id. bad_request: not writable.
Result<RunDir> make_run_dir(const std::string& path);

/// Grants or revokes read access for the directory's group. bad_request: the file system refuses.
Result<Ok> share_run_dir(const RunDir& run, bool share);

/// Held while this process follows or executes the run. The kernel releases it at exit.
class RunLock {
 public:
  /// bad_request: another dllaunch holds it.
  static Result<RunLock> take(const RunDir& run);

  /// Writes this process into the lock as its holder; after a fork, the child.
  void sign() const;
  /// Children started from now on hold it too, until the last has ended.
  void pass_on() const;

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

/// Sets an earlier run's summary aside before a new one starts. One rename: after a kill at any
/// time the file exists once.
void forget_summary(const RunDir& run);

/// The dllaunch process that holds a run's lock.
struct RunLockHolder {
  pid_t pid = 0;          // 0: an older version that did not record it
  std::string host = {};  // host the pid belongs to
  double since_s = 0;     // Unix seconds
  uid_t user = 0;         // who owns the lock's file
};

/// Returns the lock's holder; nullopt if there is none.
std::optional<RunLockHolder> owner_of(const RunDir& run);

/// Whether a process of this machine has the lock's file open, and its user or root owns file and
/// directory. The holder is told by the file's text, which may name any process.
bool holds_lock(const RunDir& run, pid_t pid);

/// Returns the path of the newest complete checkpoint; empty: none.
std::string newest_checkpoint(const RunDir& run);

}  // namespace dllaunch
