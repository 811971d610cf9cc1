#include "launcher/job/job_changes.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/base/shell_quote.hpp"
#include "launcher/job/job.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// Blocks and keys that may change. A new key is significant until it is listed here: refusing too
/// much is the safe mistake.
constexpr std::array<std::string_view, 53> free_keys = {
    "name",
    "cluster",
    "after",
    "array",
    "share",
    "stage",
    "environment",
    "binding",
    "recovery",
    "study",
    "sweep",
    "reproducibility",
    // The planned number of ranks is compared; their layout on nodes may change.
    "resources.nodes",
    "resources.ranks_per_node",
    "resources.gpus_per_node",
    "resources.gpus",
    "resources.cpus_per_rank",
    "resources.time",
    "resources.memory",
    "resources.partition",
    "resources.account",
    "resources.qos",
    "resources.reservation",
    "resources.constraint",
    "resources.exclude",
    "resources.segment",
    "resources.switches",
    "resources.spread",
    "resources.exclusive",
    "resources.sbatch_extra",
    "resources.srun_extra",
    "train.epochs",
    "train.max_steps",
    "train.validate_every",
    "train.checkpoint",
    "train.reports",
    "train.resume",
    "train.dataset.workers",
    "train.optimizer.shard",
    "train.ema.validate",
    "train.dataset.stage_to",
    "train.dataset.stage_failure",
    "train.dataset.on_bad",
    "runtime.allreduce",
    "runtime.transport",
    "runtime.bucket_mb",
    "runtime.overlap",
    "runtime.timeline",
    "runtime.pipeline.cut",
    "runtime.split_dense",
    "runtime.integrity",
    "runtime.stall_seconds",
    "runtime.stall_abort_seconds",
};

/// What the ranks read when they start: neither the allocation nor its script has used it.
/// With runtime.*, but for what srun's options follow.
constexpr std::array<std::string_view, 6> keys_of_ranks = {
    "run",
    "train",
    "environment.variables",
    "recovery.max_restarts",
    "recovery.preflight",
    "recovery.hold_on_error",
};

bool may_change(const std::string& key) {
  return std::ranges::find(free_keys, key) != free_keys.end();
}

bool is_of_ranks(const std::string& key) {
  if (key == "runtime.transport" || key == "runtime.allreduce") return false;
  return key.starts_with("runtime.") ||
         std::ranges::find(keys_of_ranks, key) != keys_of_ranks.end();
}

const Json& at(const Json& object, const std::string& key) {
  static const Json nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

/// A value as the job file has it; the words of a command as one would type them.
std::string shown(const std::string& path, const Json& value) {
  if (path != "run" || !value.is_array()) return value.dump();
  return shell_join(value.get<std::vector<std::string>>());
}

/// Whether bash runs the same text, with -eo pipefail or, as dllaunch before it stored it, without.
bool is_same_text(const Json& before, const Json& now) {
  const auto text_of = [](const Json& run) -> std::string {
    if (!run.is_array()) return "";
    for (const Json& word : run)
      if (!word.is_string()) return "";
    const auto argv = run.get<std::vector<std::string>>();
    const auto at = shell_text_at(argv);
    return at < argv.size() ? argv[at] : "";
  };
  const auto text = text_of(now);
  return !text.empty() && text_of(before) == text;
}

/// `skips`: whether differences at a path and below do not count.
void compare(const std::string& path, const Json& before, const Json& now,
             bool (*skips)(const std::string& path), std::vector<std::string>& changes) {
  if (skips(path) || before == now || (path == "run" && is_same_text(before, now))) return;
  if (!before.is_object() || !now.is_object()) {
    changes.push_back(path + ": " + shown(path, before) + " -> " + shown(path, now));
    return;
  }
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const auto& [key, value] : now.items())
    compare(prefix + key, at(before, key), value, skips, changes);
  for (const auto& [key, value] : before.items()) {
    if (!now.contains(key)) compare(prefix + key, value, Json(), skips, changes);
  }
}

std::vector<std::string> compared(const Json& before, const Json& now,
                                  bool (*skips)(const std::string& path)) {
  std::vector<std::string> changes;
  compare("", before, now, skips, changes);
  return changes;
}

}  // namespace

std::vector<std::string> changes_that_matter(const Json& before, const Json& now) {
  return compared(before, now, may_change);
}

std::vector<std::string> all_changes(const Json& before, const Json& now) {
  return compared(before, now, [](const std::string&) { return false; });
}

std::vector<std::string> changes_beyond_ranks(const Json& before, const Json& now) {
  return compared(before, now, is_of_ranks);
}

}  // namespace dllaunch
