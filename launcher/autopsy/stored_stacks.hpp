// RUN/autopsy: the stacks that were kept, and what makes the ranks' Python answer.
#pragma once

#include <optional>
#include <string>

#include "launcher/autopsy/merge_stacks.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// The folder of sitecustomize.py, for PYTHONPATH.
std::string python_start_folder(const std::string& run_dir);

/// Writes sitecustomize.py there, or removes it if `on` is false. bad_request: not writable.
Result<Ok> prepare_autopsy(const std::string& run_dir, bool on);

struct StoredStacks {
  std::string name = {};      // "20261127-075900": when they were read, in UTC
  double time_s = 0;          // the same in Unix seconds
  std::string why = {};       // "no progress for 630 s"
  std::string sentence = {};  // of the odd rank; empty: none is odd
  std::string text = {};      // the tree
};

/// Writes RUN/autopsy/NAME.json and NAME.txt and removes all but the newest 20. Returns NAME.
Result<std::string> keep_stacks(const std::string& run_dir, const StackReport& report,
                                const std::string& why, double now_s);

/// The newest; nullopt: none, or it cannot be read.
std::optional<StoredStacks> newest_stacks(const std::string& run_dir);

/// Whether the ranks do nothing: none is odd that computes, or all wait. Of a healthy run, a moment
/// shows some rank in another place than the others; that one computes.
bool is_standstill(const StackReport& report);

}  // namespace dllaunch
