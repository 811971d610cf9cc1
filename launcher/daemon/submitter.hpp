// Submits a job exactly once across daemon crashes: the intent is on disk before sbatch runs, and
// the job carries its token.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/daemon/client/daemon_lock.hpp"
#include "launcher/daemon/client/paths.hpp"
#include "launcher/daemon/store.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// A run's state while one of its submissions is `intended`; no decision is made meanwhile. Not a
/// state of run_state.hpp, where "submitting" refers to `dllaunch run`.
constexpr const char* state_submitting = "submitting again";

/// Returns the sbatch options beyond the script: the token appended to the user's comment, the
/// nodes to exclude (the user's and `failed`), and the folder of the first submission; empty:
/// unknown.
std::vector<std::string> options_of_submission(const std::string& script_text,
                                               const Submission& submission,
                                               const std::vector<std::string>& failed,
                                               const std::string& folder);

struct SubmitWish {
  std::string reason = {};
  bool takes_all_nodes = false;  // also nodes that failed
};

class Submitter {
 public:
  /// Whether a run's folder responds.
  using Answers = std::function<bool(const std::string&)>;

  Submitter(System& system, Store& store, DaemonPaths paths, double settle_s)
      : system_(system), store_(store), paths_(std::move(paths)), settle_s_(settle_s) {}

  /// Resubmits the run's script in its directory, unless the run was submitted otherwise since
  /// `run` was read. `meant`: the record after the submission; it is updated and stored, also in
  /// `run`. The returned submission may be refused, with `run` unchanged except for the message, or
  /// still `intended`: sbatch did not report whether the job was accepted, and recover() finds out.
  /// bad_request: a dllaunch process follows the run, or it has another job by now; nothing was
  /// done. unavailable: the disk failed; `run` is changed if the intent was stored.
  Result<Submission> submit(RunRecord& run, RunRecord meant, const SubmitWish& wish, double now_s);

  /// Resolves submissions with an unknown outcome, such as those of a daemon that died. A job with
  /// the token becomes the run's job, unless the user has submitted the run meanwhile: then it is
  /// cancelled. If Slurm twice reports no such job, `settle_s` apart and after the last sbatch has
  /// exited, it never arrived, and the run is submitted again. Returns the runs that changed. Runs
  /// whose folder does not respond are left for later; empty `answers`: all respond.
  std::vector<std::int64_t> recover(double now_s, const Answers& answers = {});

 private:
  Result<Ok> send(RunRecord& run, const RunRecord& before, Submission& submission, double now_s);
  Result<Ok> adopt(RunRecord& run, Submission& submission, const std::string& job_id, double now_s);
  Result<bool> recover_one(Submission submission, double now_s);
  Result<bool> step_back(RunRecord& run, Submission submission, const std::string& ours,
                         const std::string& theirs, double now_s);
  Result<bool> send_anew(RunRecord& run, Submission submission, double now_s);
  void end_late_ones(double now_s);

  System& system_;
  Store& store_;
  DaemonPaths paths_;
  double settle_s_;
  std::map<std::string, double> missed_since_;  // token -> when Slurm first reported no such job
  double next_late_s_ = 0;
};

}  // namespace dllaunch
