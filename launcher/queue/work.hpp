// How long a job's work takes on other numbers of ranks.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "launcher/cluster/facts.hpp"
#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/study/scaling_fit.hpp"

namespace dllaunch {

/// The same work: the job's epochs with its global batch, or its command.
struct Work {
  std::vector<SizeTimes> sizes = {};  // seconds of the whole, by ranks, rising; empty: never run
  int runs = 0;                       // behind `sizes`
  int of_studies = 0;                 // of these
  int own_ranks = 1;                  // of the job as written
  double own_limit_s = 0;             // its time limit, without the grace in which it saves

  bool measured() const { return !sizes.empty(); }
};

/// False: the learning rate follows the number of ranks (train.lr_schedule.scaling).
bool same_on_other_ranks(const Job& job);

/// On so many ranks: the median where it was measured, the fit of several sizes elsewhere
/// (launcher/study/scaling_fit.hpp), and from one size, or from the time limit, in proportion to
/// 1 / ranks.
double seconds_on(const Work& work, int ranks);

/// "3 runs of this job on 1 and 2 ranks, one of a study"; or what is assumed without any.
std::string source_of(const Work& work);

/// Nodes with other hardware than those that the job gets; none if it can get none.
std::set<std::string> hosts_of_another_kind(const Job& job, const SlurmFacts& slurm, bool gpus);

/// Adds what the completed runs known here tell, the newest 100: those that compute the same as
/// `job` on its own or another number of ranks, begun once, not interrupted, and on no host of
/// `others`. Another number of epochs counts in proportion, without the start of the ranks.
void add_past_runs(System& system, const Job& job, const std::set<std::string>& others, Work& work);

}  // namespace dllaunch
