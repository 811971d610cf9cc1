// The lines of many ranks as one text: each with its rank, equal ones of several ranks once.
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

/// "[n1:3] text", and "ranks 0-7: text" for what several ranks said within a moment. Pure: time is
/// an argument. Lines of one rank come out in the order they went in, each exactly once; only equal
/// texts meet. A line waits for others like it no longer than `window_s`.
class LineMerger {
 public:
  static constexpr double window_s = 0.3;
  /// What may wait; beyond it the oldest lines go out at once.
  static constexpr std::size_t most_lines = 16384;
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;

  /// `rank` -1: nobody's in particular (srun's own words, say); such lines never meet others.
  void take(int rank, std::string_view node, std::string text, double now_s);

  /// The lines that have waited long enough.
  std::vector<std::string> ripe(double now_s);
  /// All that are left.
  std::vector<std::string> rest();

 private:
  struct Group {
    std::string text;
    std::string node;  // of the first rank
    IdSet ranks;       // empty: nobody's
    double since_s;
  };

  std::string pop();
  bool crowded() const { return groups_.size() > most_lines || bytes_ > most_bytes; }

  std::deque<Group> groups_;
  std::uint64_t first_ = 0;  // the number of groups_.front(); they are numbered through
  std::size_t bytes_ = 0;
  std::map<int, std::uint64_t> last_;  // by rank: the number after the group of its last line
  std::unordered_map<std::string, std::vector<std::uint64_t>> by_text_;  // waiting, ascending
};

/// "0-7"; cut with the count where the ranks make a long list: "0,2,4,6,8,10,... (128 of them)".
std::string short_rank_list(const IdSet& ranks);

}  // namespace dllaunch
