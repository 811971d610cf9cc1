// A first job file for a program, from what the cluster has.
#pragma once

#include <string>

#include "launcher/cluster/facts.hpp"
#include "launcher/init/job_draft.hpp"

namespace dllaunch {

struct FirstJob {
  std::string script = {};  // the program; empty: the built-in trainer
  std::string framework = "none";
  int nodes = 1;
};

/// Pure. With Slurm: a partition whose nodes have GPUs if there is one, and a time within its
/// limit.
JobDraft first_job(const FirstJob& wanted, const Facts& facts);

/// Hardware threads per core of the cluster's nodes, as Slurm counts CPUs; 1 without Slurm.
int threads_per_core(const Facts& facts);

}  // namespace dllaunch
