// Merges the lines of many ranks into one text: each labelled with its rank, equal lines of several
// ranks once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/id_set.hpp"

namespace dllaunch {

/// Produces "[n1:3] text", or "ranks 0-7: text" for equal lines within a moment. Pure: time is an
/// argument. Lines of one rank keep their order, each appears exactly once, and only equal texts
/// merge. A line waits at most `window_s` for equal ones.
class LineMerger {
 public:
  static constexpr double window_s = 0.3;
  /// Limit of waiting lines; beyond it the oldest are released.
  static constexpr std::size_t most_lines = 16384;
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  /// `rank` -1: no rank, such as srun's own messages; such lines do not merge.
  void take(int rank, std::string_view node, std::string text, double now_s);

  /// Returns the lines that have waited long enough.
  std::vector<std::string> ripe(double now_s);
  /// Returns all remaining lines.
  std::vector<std::string> rest();

 private:
  struct Group {
    std::string text;
    std::string node;  // of the first rank
    IdSet ranks;       // empty: no rank
    double since_s;
  };

  std::string pop();
  bool crowded() const { return groups_.size() > most_lines || bytes_ > most_bytes; }

  std::deque<Group> groups_;
  std::uint64_t first_ = 0;  // number of groups_.front(); groups are numbered consecutively
  std::size_t bytes_ = 0;
  std::map<int, std::uint64_t> last_;  // by rank: the number after its last line's group
  std::unordered_map<std::string, std::vector<std::uint64_t>> by_text_;  // ascending
};

/// Returns "0-7"; shortens long lists: "0,2,4,6,8,10,... (128 of them)".
std::string short_rank_list(const IdSet& ranks);

}  // namespace dllaunch
