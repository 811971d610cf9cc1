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

/// The state of a run while one of its submissions is `intended`: nobody judges it meanwhile. No
/// word of run_state.hpp, where "submitting" is what `dllaunch run` does.
constexpr const char* state_submitting = "submitting again";

/// What sbatch is told beyond the script: the token behind the user's own comment, the nodes to
/// leave out, his and those of `failed`, and the folder in which it was submitted first.
std::vector<std::string> options_of_submission(const std::string& script_text,
                                               const Submission& submission,
                                               const std::vector<std::string>& failed);

struct SubmitWish {
  std::string reason = {};
  bool takes_all_nodes = false;  // also nodes that failed
};

class Submitter {
 public:
  /// Whether a run's folder can be looked into.
  using Answers = std::function<bool(const std::string&)>;

  Submitter(System& system, Store& store, DaemonPaths paths, double settle_s)
      : system_(system), store_(store), paths_(std::move(paths)), settle_s_(settle_s) {}

  /// Submits the run's script again, in its directory, unless somebody else has done so since
  /// `run` was read. `meant` is what becomes of the record with the submission; it is brought up
  /// to date and stored, in `run` too. The submission it returns may be refused, with `run` as it
  /// was but for the words, or still `intended`: sbatch did not say whether the job was taken, and
  /// recover() finds out. bad_request: a dllaunch follows the run, or its job is another one by
  /// now; nothing was done. unavailable: the disk; `run` is changed if the submission is meant all
  /// the same.
  Result<Submission> submit(RunRecord& run, RunRecord meant, const SubmitWish& wish, double now_s);

  /// Looks after submissions of which nobody knows the outcome: those of a daemon that died. A job
  /// that carries the token is taken for the run's, unless its user submitted it meanwhile: then it
  /// is cancelled. Where Slurm knows of none twice, `settle_s` apart and after the last sbatch is
  /// gone, there never will be one, and the run is submitted. Returns the runs that have changed.
  /// Those whose folder does not answer are left for later; empty: all do.
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
