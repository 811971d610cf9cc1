// A job submitted once, whenever the daemon dies: the intent is on the disk before sbatch runs, and
// the job carries its token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/daemon/daemon_lock.hpp"
#include "launcher/daemon/place.hpp"
#include "launcher/daemon/store.hpp"
#include "launcher/world.hpp"

namespace dllaunch {

/// The state of a run while one of its submissions is `intended`: nobody judges it meanwhile.
constexpr const char* state_submitting = "submitting";

/// "dllaunch:" and 16 random hexadecimal digits.
std::string new_token();

/// The job that carries the token, in the queue or over. Nothing: Slurm knows none. unavailable,
/// timeout: it does not answer.
Result<std::optional<std::string>> find_token(World& world, const std::string& token,
                                              double intended_s);

/// What sbatch is told beyond the script: the token behind the user's own comment, and the nodes to
/// leave out, his and those of `failed`.
std::vector<std::string> options_of_submission(const std::string& script_text,
                                               const Submission& submission,
                                               const std::vector<std::string>& failed);

class Submitter {
 public:
  Submitter(World& world, Store& store, DaemonPlace place, double settle_s)
      : world_(world), store_(store), place_(std::move(place)), settle_s_(settle_s) {}

  /// Submits the run's script again, in its directory, unless somebody else has done so since
  /// `run` was read. The record is brought up to date and stored. The submission it returns may
  /// be refused, or still `intended`: sbatch did not say whether the job was taken, and recover()
  /// finds out. bad_request: a dllaunch follows the run, or its job is another one by now; nothing
  /// was done. unavailable: the disk; `run` is changed if the submission is meant all the same.
  Result<Submission> submit(RunRecord& run, const std::string& reason, double now_s);

  /// Looks after submissions of which nobody knows the outcome: those of a daemon that died. A job
  /// that carries the token is taken for the run's; where there is none `settle_s` after the last
  /// sbatch is gone, there never will be one, and the run is submitted. Returns the runs that have
  /// a new job.
  std::vector<std::int64_t> recover(double now_s);

 private:
  Result<Ok> send(RunRecord& run, Submission& submission, double now_s);
  Result<Ok> adopt(RunRecord& run, Submission& submission, const std::string& job_id, double now_s);
  Result<bool> recover_one(Submission submission, double now_s);

  World& world_;
  Store& store_;
  DaemonPlace place_;
  double settle_s_;
  double sbatch_gone_s_ = 0;  // since when we know that no sbatch of another daemon runs
};

}  // namespace dllaunch
