// A run that another command makes: `dllaunch run` as a child, its words in a file of their own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/os/owned_process.hpp"
#include "launcher/os/system.hpp"
#include "support/id_set.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

struct ChildRun {
  std::string job_file = {};
  std::vector<std::string> sets = {};  // KEY.PATH=VALUE
  std::string dir = {};                // its words: DIR.log
  bool local = false;
  bool allocated = false;  // in the Slurm allocation around this process
  /// Of the allocation: the nodes of an allocated run (empty: the first), the one of a local run
  /// (empty: this machine).
  std::string nodelist = {};
  IdSet cpus = {};  // of its machine, which it may use; empty: all that this process may
  std::vector<std::pair<std::string, std::string>> environment = {};  // replaces or extends ours
};

/// unavailable: it cannot be started.
Result<OwnedProcess> start_child_run(const ChildRun& run);

/// Tells a child to save and stop, or, with SIGHUP, that the terminal is gone. A local run on
/// another node is behind srun, which kills at TERM: a job step tells it.
void stop_child_run(System& system, const ChildRun& run, const OwnedProcess& process, int signal);

/// The last words of its own messages; empty: it said nothing.
std::string last_error_of_child(const std::string& dir);

/// What has become of a run that perhaps no dllaunch followed.
enum class RunFate {
  absent,   // it was never prepared
  there,    // it waits, runs, or is about to end
  over,     // its directory says how, as far as anything does
  unknown,  // Slurm does not answer, or is not the run's
};

/// What is wrong for now with the file system where the run's directory is, or will be: "/r: write:
/// No space left on device"; empty: nothing, or what does not pass. Writes a test file.
std::string storage_trouble(const std::string& dir);

/// Asks `dllaunch status`, which also records how the run's job ended.
RunFate fate_of_run(System& system, const std::string& dir);

/// Whether a run's directory is another job's, whose results are not those of `wanted`, resolved:
/// the keys by which it differs from the first of them. None: it is one of them, or there is no run
/// yet. unavailable: the file system does not give its job.yaml.
Result<std::vector<std::string>> keys_of_other_job(System& system, const std::string& dir,
                                                   const std::vector<Json>& wanted,
                                                   const std::vector<std::string>& left_out = {});

/// bad_request: the job file is no longer that of a digest: children read it when they start.
Result<Ok> check_unchanged(System& system, const std::string& job_file,
                           const std::vector<std::string>& sets, const std::string& digest,
                           const std::vector<std::string>& left_out = {});

/// Tells jobs apart without their secrets. `left_out`: blocks and keys of one that may differ.
std::string digest_of_job(Json resolved, const std::vector<std::string>& left_out = {});

}  // namespace dllaunch
