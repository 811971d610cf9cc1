// Writes into the node book what a supervised run sees of its nodes, and reads there which of them
// its ranks should rather not have. Never an obstacle to the run: it complains once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/nodes/node_book.hpp"
#include "launcher/preflight/report.hpp"
#include "launcher/run/attempt.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// The cluster's name in a job's environment; empty outside.
std::string cluster_in_job(System& system);

class NodeWitness {
 public:
  /// `job` empty: outside Slurm, where there is but one node, nothing is written. `of_site`: the
  /// cluster profile's book.
  NodeWitness(System& system, RunDir run, std::string job, const std::string& of_site);

  /// A pre-flight has looked at the nodes.
  void saw(const std::vector<NodeVerdict>& verdicts, const std::vector<std::string>& unfit);

  /// The ranks are about to start on these nodes (a host list).
  void begins(const std::string& nodes, std::int64_t fencing_token);
  /// They have ended. A second call does nothing.
  void ended(const Attempt& attempt);

  /// The supervisor of the last start came to no end, before this one takes over: its node may have
  /// failed.
  void vanished();

  /// Of these nodes (a host list), of which the ranks take `taken`, those to be left to the spares,
  /// worst first; empty: there are no spares. `avoid`: recovery.avoid.
  std::vector<std::string> unwanted(const std::vector<std::string>& avoid, const std::string& nodes,
                                    std::size_t taken);

 private:
  void write(const std::vector<NodeSighting>& seen,
             std::chrono::milliseconds patience = std::chrono::seconds(10));
  void gave_up(const Error& error);

  System& system_;
  RunDir run_;
  std::string job_;
  std::string cluster_;
  std::optional<NodeBook> book_ = {};
  std::string nodes_ = {};
  double began_s_ = 0;
  std::int64_t fencing_token_ = 0;
  std::uint64_t events_from_ = 0;  // bytes of events.jsonl that were there before
  bool complained_ = false;
};

}  // namespace dllaunch
