// What is wrong with where ranks run: a verdict with a reason and a remedy. Pure.
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
  std::string id = {};  // "A01"; what it means never changes
  Level level = Level::ok;
  IdSet ranks = {};       // empty: the node, or a process that is no rank
  std::string job = {};   // NodeObservation::job
  std::string seen = {};  // a fact
  std::string cost = {};  // why it matters
  std::string fix = {};   // the flag, variable or YAML line to change; empty with Level::ok
};

/// `topology`: of that node; its allowed_cpus are those the job may use there, not those of whoever
/// looks. Worst first, then by id; a rule gives at most one finding of each level.
std::vector<Finding> diagnose(const Topology& topology, const NodeObservation& node);

/// The positions in topology.gpus that each of node.ranks may be driving; as the plan says, else by
/// driven_gpus().
std::vector<std::vector<int>> gpus_of_ranks(const Topology& topology, const NodeObservation& node);

struct RuleName {
  std::string_view id;
  std::string_view title;  // "rank far from its GPU"
  std::string_view cost;
};
/// Every rule, by id. docs/doctor.md lists the same.
std::span<const RuleName> rule_names();

/// Whether a rule looks at the environment variable `name`.
bool matters_to_doctor(std::string_view name);

/// Adds a rank that a set can hold; the last of more than 65536 ranks are judged, but not listed.
void add_rank(IdSet& ranks, int rank);

/// Ranks as people write them, "0-3,8"; long lists are cut: "0,8,16,...,1016 (128 ranks)".
std::string rank_words(const IdSet& ranks);

}  // namespace dllaunch
