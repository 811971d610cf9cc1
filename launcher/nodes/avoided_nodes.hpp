// Which nodes a job avoids (recovery.avoid). Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launcher/nodes/judge_nodes.hpp"

namespace dllaunch {

/// Of a partition's nodes at most this share is avoided by judgement, but one always may be.
inline constexpr double most_avoided_share = 0.1;

struct AvoidedNodes {
  std::vector<std::string> nodes = {};
  std::vector<std::string> notes = {};  // one sentence each: what is avoided, what is not, and why
};

/// What recovery.avoid says: `auto`, `off`, or nodes.
bool avoids_by_judgement(const std::vector<std::string>& avoid);

/// The nodes of host lists; what is none is a name.
std::vector<std::string> named_nodes(const std::vector<std::string>& avoid);

/// `avoid`: "auto" alone: of the nodes judged so the worst, within the limit; else the nodes of
/// the host lists that the user wrote, all of them. Never so many that fewer than `needed` of
/// `partition` are left; the nodes of other partitions are none of its.
AvoidedNodes choose_avoided(const std::vector<NodeJudgement>& judged,
                            const std::vector<std::string>& avoid, const std::string& cluster,
                            const std::vector<std::string>& partition, std::size_t needed);

/// The nodes of an allocation that ranks should leave to the spares, worst first.
std::vector<std::string> worst_first(const std::vector<NodeJudgement>& judged,
                                     const std::vector<std::string>& avoid,
                                     const std::string& cluster,
                                     const std::vector<std::string>& allocated);

}  // namespace dllaunch
