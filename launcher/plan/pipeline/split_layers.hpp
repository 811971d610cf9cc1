// Dense layers that the ranks of a plan split, and what a rank then holds. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/plan/plan.hpp"
#include "support/json.hpp"

namespace dllaunch {

struct SplitLayer {
  std::string name = {};
  std::int64_t columns = 0;
  std::int64_t of_rank = 0;  // of the rank that has most
};

struct SplitPlan {
  int ranks = 2;
  std::optional<std::int64_t> memory_bytes = {};  // of a rank; absent: not known
  // What read_split() adds:
  std::vector<SplitLayer> layers = {};
  std::int64_t held_bytes = 0;        // of a rank: weights, gradients, optimiser state
  std::int64_t whole_bytes = 0;       // likewise, if no layer were split
  std::int64_t activation_bytes = 0;  // of a rank
  std::string unknown = {};           // why nothing of that is known

  std::int64_t bytes() const { return held_bytes + activation_bytes; }
};

/// nullopt: the job splits no layers.
std::optional<SplitPlan> split_of(const LaunchPlan& plan);

/// Adds what `dltrain --describe-stages` printed. Missing or invalid values leave `unknown` set.
void read_split(std::string_view text, SplitPlan& split);

/// What the user should know before the run: one line each.
std::vector<std::string> warnings_of(const SplitPlan& split);

/// What a rank holds and the warnings, as `plan` prints them.
std::string render_split(const SplitPlan& split);
Json to_json(const SplitPlan& split);

}  // namespace dllaunch
