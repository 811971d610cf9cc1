// RUN/autopsy: the stacks that were kept, and what makes the ranks' Python answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/autopsy/merge_stacks.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The folder of sitecustomize.py, for PYTHONPATH.
std::string python_start_folder(const std::string& run_dir);

/// Writes sitecustomize.py there, or removes it if `on` is false. bad_request: not writable.
Result<Ok> prepare_autopsy(const std::string& run_dir, bool on);

/// What stacks are kept for.
enum class StacksKind {
  hang,        // no progress: the supervisor ends the ranks
  stall,       // ranks of a training hold up the others, who end it if that lasts
  start,       // a training has not begun, and its ranks may end it
  silence,     // of a command that has written nothing for long
  time_limit,  // is near
};
inline constexpr std::string_view stacks_kind_names[] = {"hang", "stall", "start", "silence",
                                                         "time_limit"};

/// Whether ranks were, or would have been, ended for it.
bool is_of_hang(StacksKind kind);

struct StoredStacks {
  std::string name = {};               // "20261127-075900": when they were read, in UTC
  double time_s = 0;                   // the same in Unix seconds
  StacksKind kind = StacksKind::hang;  // as in files without it
  std::string why = {};                // the same in words: "no progress for 630 s"
  std::string sentence = {};           // of the odd rank; empty: none is odd
  std::string text = {};               // the tree
};

/// Writes RUN/autopsy/NAME.json and NAME.txt and removes all but the newest 20. Returns NAME.
Result<std::string> keep_stacks(const std::string& run_dir, const StackReport& report,
                                StacksKind kind, const std::string& why, double now_s);

/// The newest that can be read and are `wanted`, all if that is empty; nullopt: none.
std::optional<StoredStacks> newest_stacks(
    const std::string& run_dir, const std::function<bool(const StoredStacks&)>& wanted = {});

/// Whether the ranks do nothing: none is odd that computes, or all wait. Of a healthy run, a moment
/// shows some rank in another place than the others; that one computes.
bool is_standstill(const StackReport& report);

}  // namespace dllaunch
