// One round of the daemon: finds the runs, queries the queue once for all of them, and acts on the
// result.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/daemon/client/settings.hpp"
#include "launcher/daemon/event_watch.hpp"
#include "launcher/daemon/folder_probe.hpp"
#include "launcher/daemon/policy.hpp"
#include "launcher/daemon/store.hpp"
#include "launcher/daemon/submitter.hpp"
#include "launcher/monitor/run_state.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/run/stored_run.hpp"

namespace dllaunch {

struct SlurmHealth {
  bool asked = false;
  bool answers = true;
  std::string last_error = {};
  int errors_in_row = 0;
  std::uint64_t questions = 0;  // squeue calls, each for all runs
  std::uint64_t errors = 0;
  double answer_s = 0;  // duration of the last one
};

/// The last round's result, shared with other threads.
struct Snapshot {
  double at_s = 0;
  double next_s = 0;
  SlurmHealth slurm = {};
  Queue queue = {};
  std::vector<RunRecord> live = {};  // with their progress
  std::uint64_t rounds = 0;
  std::uint64_t submissions = 0;  // by this process
};

/// Watches the runs; only one thread calls look().
class RunWatch {
 public:
  RunWatch(System& system, Store& store, const DaemonPaths& paths, DaemonSettings settings,
           FolderProbe::Look look = FolderProbe::device_of);

  /// Runs one round; failures are logged and retried in a later round. `now_s`: Unix seconds.
  void look(double now_s);
  /// When the next round is due.
  double next_s() const { return next_s_; }
  /// Thread-safe.
  std::shared_ptr<const Snapshot> snapshot() const;
  /// Whether a run's folder responds. Thread-safe. A folder that hangs is skipped until it
  /// responds.
  bool answers(const std::string& folder) { return folders_.answers(folder); }

 private:
  struct Stamp {
    std::int64_t changed_ns = 0;
    std::int64_t bytes = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct LiveRun {
    RunRecord record;
    RunRecord stored;  // as stored
    StoredRun files;
    Stamp job_id = {};
    Stamp summary = {};
    std::optional<EventWatch> events = {};
    std::optional<EndedJob> ended = {};  // to be resubmitted
    double retry_s = 0;                  // earliest retry after a refusal
    int refusals = 0;
    std::string refusal = {};
    bool cancel_asked = false;
    double unheard_since_s = 0;  // ended, and Slurm has not reported how; 0: not queried
    double away_since_s = 0;     // directory missing and no job queued; 0: it exists
    bool asks() const {
      return record.launcher == "slurm" && !record.job_id.empty() && away_since_s == 0;
    }
  };
  static Stamp stamp_of(const std::string& path);

  void find_runs(double now_s);
  void look_at_entry(const std::string& path, double now_s);
  void take_up(const std::string& dir, double now_s);
  void take_live(const RunRecord& record);
  void take_wishes();
  void ask_queue();
  void look_at(LiveRun& run, double now_s);
  void leave_away(LiveRun& run);
  bool read_files(LiveRun& run);
  void miss(LiveRun& run, double now_s);
  void keep_alive(LiveRun& run, const RunState& run_state, double now_s);
  void take_progress(LiveRun& run);
  void note_lost_nodes(LiveRun& run, const std::string& where, double now_s);
  void end(LiveRun& run, double now_s);
  void wait_for_answer(LiveRun& run, const Error& why, double now_s);
  void note_end(LiveRun& run, const FinalState& final_state, RunStatus status, double now_s);
  void judge(LiveRun& run, double now_s);
  void submit(LiveRun& run, const std::string& reason, double now_s);
  void grant(LiveRun& run, const RunState& run_state, double now_s);
  void cancel(LiveRun& run, const RunState& run_state, double now_s);
  void finish(LiveRun& run, const std::string& event, double now_s);
  void keep(LiveRun& run);
  void tell();
  void tell_of_absence();
  void tell(const Notice& notice);
  void publish(double now_s);
  int jobs_in_queue() const;

  System& system_;
  Store& store_;
  DaemonSettings settings_;
  Submitter submitter_;
  FolderProbe folders_;
  std::map<std::int64_t, LiveRun> live_;
  std::map<std::string, Stamp> index_;  // entry -> its stamp when read
  Stamp index_folder_;
  std::set<std::string> again_;  // entries of runs being started or followed
  Queue queue_;
  SlurmHealth slurm_;
  std::uint64_t rounds_ = 0;
  std::uint64_t submissions_ = 0;
  int ends_left_ = 0;          // jobs still to be queried in this round
  int submitted_now_ = 0;      // in this round
  bool catching_up_ = true;    // not all that happened while no daemon ran is known yet
  bool sbatch_hangs_ = false;  // sbatch hung in this round: no further call
  double next_s_ = 0;
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_ = std::make_shared<Snapshot>();
};

/// Returns `recovery:` of a run, and whether its script allows a requeue.
RecoveryWishes recovery_wishes(System& system, const RunDir& dir);

}  // namespace dllaunch
