// The daemon's persistent state: the user's runs, submissions and their reasons, failed nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "launcher/daemon/database.hpp"

namespace dllaunch {

/// The daemon's record of a run. Times are Unix seconds; 0: none.
struct RunRecord {
  std::int64_t id = 0;
  std::string dir = {};   // absolute; unique
  std::string name = {};  // directory name
  std::string job = {};   // job name
  std::string launcher = {};
  std::string state = {};  // a state of run_state.hpp
  std::string job_id = {};
  bool over = false;
  std::string judged = {};  // the last ended job that was decided on; each job is decided on once
  double began_s = 0;       // submitted, or started locally
  double ended_s = 0;
  double seconds = 0;  // run time
  std::string where = {};
  std::string reason = {};    // why it ended, or why it is pending
  std::string decision = {};  // the daemon's decision and its reason
  int submissions = 0;        // by the daemon
  int without_progress = 0;   // consecutive submissions without a new checkpoint
  int system_cancels = 0;
  std::string wish = {};  // of the user through the API: "", "cancel", "requeue"
  double wished_s = 0;
  bool cancelled = false;  // by request: never resubmitted
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double loss = 0;
  double val_accuracy = 0;
  double images_per_s = 0;

  bool operator==(const RunRecord&) const = default;
};

enum class SubmissionState { intended, submitted, refused, never_sent };
std::string to_string(SubmissionState state);

/// One sbatch call, recorded before it runs. `token` is in the job's comment and identifies the job
/// after a crash.
struct Submission {
  std::string token = {};
  std::int64_t run = 0;
  std::string judged = {};  // the ended job that it replaces
  std::string reason = {};
  double intended_s = 0;
  SubmissionState state = SubmissionState::intended;
  std::string job_id = {};
  std::string message = {};  // of a refusal
  std::string exclude = {};
  bool takes_all_nodes = false;  // not stored: applies to one attempt
};

struct Notice {
  std::int64_t id = 0;
  double time_s = 0;
  std::string event = {};  // ended | submitted | gave_up | excluded | several
  std::string run = {};    // run directory
  std::string message = {};
};

/// Changes that are stored atomically.
struct Transition {
  RunRecord run = {};
  std::vector<Submission> submissions = {};  // new or updated
  std::optional<Notice> notice = {};
};

/// Thread-safe. Each call is on disk when it returns. unavailable: the disk is full or away;
/// nothing was changed.
class Store {
 public:
  /// bad_request: damaged, or written by a newer dllaunch.
  static Result<std::unique_ptr<Store>> open(const std::string& path, double now_s);

  /// When the store was created: runs that ended earlier are ignored.
  double made_s() const { return made_s_; }

  /// Inserts (id 0) or updates the run; returns its id.
  Result<std::int64_t> save(const RunRecord& run);
  Result<Ok> decide(const Transition& decision);
  Result<std::vector<RunRecord>> live_runs();
  /// Returns runs with an id below `before` (0: all), newest first.
  Result<std::vector<RunRecord>> runs(std::size_t most, std::int64_t before);
  /// Finds by directory name (the newest if several) or directory.
  Result<std::optional<RunRecord>> find(const std::string& name);
  Result<std::optional<RunRecord>> find_id(std::int64_t id);
  struct Count {
    std::string state;
    std::int64_t runs;
  };
  Result<std::vector<Count>> counts();
  /// Changes only the request: the rest of the record may be changing.
  Result<Ok> wish(std::int64_t run, const std::string& what, double now_s);

  Result<std::vector<Submission>> open_submissions();
  /// Returns submissions that were concluded never to have happened.
  Result<std::vector<Submission>> never_sent(double since_s);
  Result<std::vector<Submission>> submissions_of(std::int64_t run, std::size_t most);
  Result<Ok> save(const Submission& submission);

  Result<Ok> node_failed(const std::string& node, const std::string& job_id, double now_s);
  /// Returns nodes that failed at least `times` times since then.
  Result<std::vector<std::string>> failed_nodes(double since_s, int times);

  /// Records the cost of an ended job; a repeated call has no effect.
  Result<Ok> used(const std::string& job_id, double gpu_hours, double now_s);
  Result<double> gpu_hours(double since_s);

  Result<std::optional<Notice>> next_notice();
  /// Those that are not done yet, oldest first; at most so many.
  Result<std::vector<Notice>> notices(std::int64_t most);
  Result<Ok> notice_done(std::int64_t id);

 private:
  explicit Store(Database database) : database_(std::move(database)) {}
  Result<Ok> make_tables(double now_s);
  Result<std::int64_t> write(const RunRecord& run);
  Result<Ok> write(const Submission& submission);

  std::mutex mutex_;
  Database database_;
  double made_s_ = 0;
};

}  // namespace dllaunch
