// A run as its supervisor sees it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job/node_numbering.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/start_command.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/slurm/allocation.hpp"
#include "launcher/supervise/policy.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// State kept from one attempt to the next.
struct SupervisedRun {
  RunDir dir = {};
  RecoverySettings recovery = {};
  int signal = 0;  // "save now"
  StartCommand start = {};
  std::string program = {};  // starter, absolute path
  JobAllocation allocation = {};
  std::size_t nodes = 0;  // nodes the ranks need
  bool guarded = false;   // others can replace its directory: nothing is executed from there
  bool again = false;     // the ranks have been started in this allocation before
  NodeNumbering network_order = NodeNumbering::automatic;
  Json network = {};           // as the cluster's profile describes it; null: not at all
  std::string node_book = {};  // the cluster profile's; empty: none
  std::string excluded = {};   // a host list: the job's own --exclude
  int ranks_per_node = 1;
  /// In the place of the job's number in the journal: a run may be started several times in one
  /// allocation (launcher/launch/allocated.hpp), each a new try as with a new job. Empty: one
  /// start.
  std::string start_name = {};

  std::vector<std::pair<std::string, std::string>> variables = {};  // set before the ranks start
  /// Likewise: those of the job file, where `dllaunch retry` may have changed them.
  std::vector<std::pair<std::string, std::string>> retry_variables = {};

  /// Fewest nodes on which the ranks start.
  std::size_t fewest_nodes() const {
    const auto& plan = recovery.plan;
    return plan.elastic() ? std::min(nodes, static_cast<std::size_t>(plan.min_nodes)) : nodes;
  }
  const std::string& job() const { return start_name.empty() ? allocation.job : start_name; }
};

/// `start`: srun or mpirun, its options and the ranks' command. `files`: where its plan is, if
/// others can replace its directory (kept_files.hpp); no orders are taken from there then.
/// bad_request: no such run. unavailable: no such program.
Result<SupervisedRun> read_supervised_run(System& system, const std::string& run_dir,
                                          const std::vector<std::string>& start,
                                          const std::string& files = "");

/// The plan of a run whose directory others can replace: from its copies, and without a hold.
void take_plan_from(const std::string& folder, StoredRun& run, System& system);

/// For a requeue that leaves out these nodes (a host list), besides those that earlier ones did.
Exclusion exclusion_of(const SupervisedRun& run, const std::string& fresh);
/// The same of a component that another process supervises, in its Slurm job.
Exclusion exclusion_of(const StoredRun& run, const std::string& job, const std::string& fresh);

}  // namespace dllaunch
