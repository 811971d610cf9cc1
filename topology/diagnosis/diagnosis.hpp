// Diagnosis: judges where ranks run and says why and what to change. Pure.
// Observes nothing and changes nothing: callers pass what was read of the ranks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/diagnosis/rank_observation.hpp"

namespace dllaunch {

enum class Level { ok, warn, fail };  // ok: worth knowing, nothing to do

std::string_view to_string(Level level);  // "OK" | "WARN" | "FAIL"

struct Finding {
  std::string id = {};  // "A01"; its meaning never changes
  Level level = Level::ok;
  IdSet ranks = {};       // empty: the node, or a process that is not a rank
  std::string job = {};   // NodeObservation::job
  std::string seen = {};  // a fact
  std::string cost = {};  // why it matters
  std::string fix = {};   // the flag, variable or YAML line to change; empty for Level::ok
};

/// Returns the findings, worst first, then by id; at most one for each rule and level. `topology`
/// is of the observed node. Its allowed_cpus are the job's, not the observer's.
std::vector<Finding> diagnose(const Topology& topology, const NodeObservation& node);

/// Returns, for each of node.ranks, positions in topology.gpus that it may be driving: from the
/// plan, or from driven_gpus() without one.
std::vector<std::vector<int>> gpus_of_ranks(const Topology& topology, const NodeObservation& node);

struct RuleName {
  std::string_view id;
  std::string_view title;  // "rank far from its GPU"
  std::string_view cost;
};
/// All rules, by id, as in docs/how-to/doctor.md.
std::span<const RuleName> rule_names();

/// Whether any rule reads the environment variable `name`.
bool matters_to_doctor(std::string_view name);

/// Adds a rank to a set that can hold it. Ranks above 65535 are judged, but not listed.
void add_rank(IdSet& ranks, int rank);

/// Formats ranks for people, "0-3,8". Long lists are abbreviated: "0,8,16,...,1016 (128 ranks)".
std::string rank_words(const IdSet& ranks);

}  // namespace dllaunch
