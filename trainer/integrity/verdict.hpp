// Whose numbers are wrong, where ranks that must hold the same do not. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "trainer/integrity/digest.hpp"

namespace dllaunch {

/// What a comparison shows.
struct ReplicaVerdict {
  bool agreed = true;
  std::vector<int> wrong = {};  // ranks, ascending; empty though not agreed: no majority
  std::vector<int> apart = {};  // ranks of the groups that do not agree
  // What differs:
  bool weights = false;
  bool states = false;
  bool gradients = false;
};

/// `digests`, by rank, are of `groups` groups of consecutive ranks, equally large: the ranks of one
/// group are replicas. Of a group, those that are alike are right if they are more than half.
ReplicaVerdict judge(std::span<const Digest> digests, int groups);

/// "weights and optimizer state"
std::string words_of(const ReplicaVerdict& verdict);

/// Steps on which ranks disagree, without a majority, kept until they have been computed again.
struct Suspicion {
  std::int64_t since = 0;  // the last step that all agreed on
  std::int64_t step = 0;   // the step they disagree on
  // By rank:
  std::vector<std::string> hosts = {};
  std::vector<Digest> digests = {};                     // at `step`
  std::vector<std::vector<std::uint64_t>> prints = {};  // of each step from since + 1 to step
};

/// Returns the ranks whose numbers were wrong, now that the steps have been computed again; empty:
/// it cannot be told. `deviated`, by rank: the first step whose print is another one than before,
/// 0 for none. A wrong number of one rank reaches the others only through the sums of gradients,
/// so it is that rank whose own gradients deviate first. Where none deviate, `again`, by rank at
/// the same step, tells who had other numbers before; empty if that step was not reached.
std::vector<int> judge_again(const Suspicion& before, std::span<const std::int64_t> deviated,
                             std::span<const Digest> again, int groups);

/// As text, for a file. bad_request: it is damaged, or longer than what is written.
inline constexpr std::size_t most_suspicion_bytes = std::size_t{16} << 20;
std::string text_of(const Suspicion& suspicion);
Result<Suspicion> read_suspicion(std::string_view text);

}  // namespace dllaunch
