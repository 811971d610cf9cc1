// What a start of a run, or a pre-flight, saw of its nodes. Pure, but for the logs' names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/nodes/sighting.hpp"
#include "launcher/preflight/report.hpp"
#include "launcher/run/attempt.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// A start of the ranks that has ended.
struct EndedStart {
  std::string cluster = {};
  std::string job = {};
  std::vector<std::string> nodes = {};  // where its ranks ran
  double began_s = 0;                   // Unix seconds
  double ended_s = 0;
  std::int64_t fencing_token = 0;
};

/// Reads lines of events.jsonl. Those of other starts, and kinds that say nothing of nodes, do not
/// count.
class EventSightings {
 public:
  using HostOfRank = std::function<std::string(int rank)>;

  EventSightings(const EndedStart& start, HostOfRank host_of_rank)
      : start_(start), host_of_rank_(std::move(host_of_rank)) {}

  void take(std::string_view line);

  /// Seconds of training in which lateness was looked for.
  double trained_s() const { return trained_s_; }
  std::vector<NodeSighting> observations() const;

 private:
  struct OfNode {
    double late_s = 0;
    bool straggles = false;  // in an epoch, by more than chance: what it delayed counts
    double gpu_errors = 0;
    double corrupted = 0;
    int gave_up = 0;
    std::string gpu_words = {};
    std::string corrupted_words = {};
    std::string stall_words = {};
  };

  OfNode* node_of(const std::string& host);
  void take_ranks(const Json& event);
  void take_gpus(const Json& event);
  void take_stall(const Json& event);
  void take_corrupted(const Json& event);

  const EndedStart& start_;
  HostOfRank host_of_rank_;
  double trained_s_ = 0;
  std::map<std::string, OfNode> nodes_ = {};
};

/// What the end of a start says against a node; empty: nothing. A program's own errors, exit codes
/// and lack of memory, say nothing.
std::vector<NodeSighting> sightings_of(const EndedStart& start, const Attempt& ended);

/// Figures, and nodes of `unfit` that failed a check.
std::vector<NodeSighting> sightings_of(const std::vector<NodeVerdict>& verdicts,
                                       const std::vector<std::string>& unfit,
                                       const std::string& cluster, const std::string& job,
                                       double time);

}  // namespace dllaunch
