// What to think of nodes, by what runs saw of them. Pure.
//
// An observation of age t weighs 2^(-t / 14 days). What speaks against a node adds up:
//
// - failures: the sum of their weights, of which 1.5 are enough to avoid the node: one lost node is
//   to be watched, two within two weeks are to be avoided. A job whose ranks are ended by signals
//   again and again counts once, by the newest. Failures of three nodes of a cluster within ten
//   minutes are the cluster's and count nothing, of two nodes half.
// - lateness: the share of training time in which the others waited for the node, times the weight
//   of the newest such run; 20 % are enough. Five seconds of good training are assumed before, and
//   not told: `why` and `late_share` say what was seen.
// - slowness: by how much a figure is less than the median of the cluster's nodes of the same kind,
//   or than the node's own past where the others have not become slower too, times its weight; 40 %
//   are enough. Of a node's newest two measurements the better one counts: a neighbour on a shared
//   node makes slow, nothing makes fast.
// - corrupted: wrong numbers: one is enough.
// - memory: corrected errors: 100 are to be watched; no number alone is enough to avoid the node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/nodes/sighting.hpp"

namespace dllaunch {

/// Of a script that ended without a message: perhaps the node, perhaps a user's kill.
inline constexpr double vanished_script_weight = 0.15;

inline constexpr double half_life_days = 14;
inline constexpr double day_s = 86400;
/// Ten half-lives: a thousandth is left.
inline constexpr double forgotten_after_days = 140;

enum class NodeGrade { good, watch, avoid };
inline constexpr std::string_view node_grade_names[] = {"good", "watch", "avoid"};

struct NodeJudgement {
  std::string cluster = {};
  std::string node = {};
  NodeGrade grade = NodeGrade::good;
  double score = 0;        // 1: enough to avoid it
  std::string why = {};    // worst first; empty: nothing speaks against it
  double seen_s = 0;       // when it was seen last, in Unix seconds
  double used_s = 0;       // by runs, as far as remembered
  double failures = 0;     // as they weigh now
  double late_share = 0;   // 0 to 1
  double speed_share = 1;  // of its slowest figure, by which it is judged; 1: as fast as it should
};

/// Every node that was seen, worst first, then by name. `now`: Unix seconds.
std::vector<NodeJudgement> judge_nodes(const std::vector<NodeSighting>& seen, double now);

/// 2^(-age / half-life); 1 for what is to come.
double weight_of_age(double age_s);

/// Neither forgotten nor more than a day ahead: of a clock that is wrong, it would never age.
bool is_remembered(double time, double now);

/// "40 s", "3 h", "2 days".
std::string age_words(double age_s);

}  // namespace dllaunch
