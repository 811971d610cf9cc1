#include "trainer/checkpoints/checkpoint_retention.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "trainer/checkpoints/checkpoint_place.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::array<CheckpointMetric, 9> metrics{{
    {"val_loss", true, "mean loss over the validation images"},
    {"val_accuracy", false, "accuracy on the validation images"},
    {"val_top5_accuracy", false, "top-5 accuracy on the validation images"},
    {"val_f1_macro", false, "mean F1 over classes"},
    {"val_f1_micro", false, "F1 over all classes together, for multi-label data sets"},
    {"val_mean_absolute_error", true, "for real-valued targets"},
    {"val_mean_squared_error", true, "for real-valued targets"},
    {"loss", true, "mean loss over the epoch's training images"},
    {"accuracy", false, "accuracy on the epoch's training images"},
}};

/// Returns the steps, newest first. Those after `newest` belong to an abandoned continuation.
std::vector<fs::path> steps_up_to(const fs::path& folder, const fs::path& newest) {
  std::error_code failed;
  auto steps = list_checkpoints(folder, failed);
  if (failed) return {};
  const auto same = [&](const fs::path& step) { return step.filename() == newest.filename(); };
  steps.erase(steps.begin(), std::ranges::find_if(steps, same));
  return steps;
}

/// A convenience only, so file systems without links are fine.
void link_best(const fs::path& folder, const fs::path& best, std::int64_t fencing_token) {
  std::error_code ignored;
  const fs::path link = folder / temporary_name(fencing_token, "best");
  fs::remove(link, ignored);
  fs::create_directory_symlink(best.filename(), link, ignored);
  fs::rename(link, folder / "best", ignored);
}

/// A directory with a final name must be complete, so it is renamed before its files are removed.
/// Files are removed only once the renames are on disk; otherwise they stay as leftovers.
void discard(const std::vector<fs::path>& steps, std::int64_t fencing_token) {
  std::error_code ignored;
  std::vector<fs::path> gone;
  for (const auto& step : steps) {
    gone.push_back(step.parent_path() /
                   temporary_name(fencing_token, "old-" + step.filename().string()));
    fs::remove_all(gone.back(), ignored);
    fs::rename(step, gone.back(), ignored);
  }
  if (gone.empty() || !sync_directory(gone.front().parent_path())) return;
  for (const auto& aside : gone) fs::remove_all(aside, ignored);
}

}  // namespace

std::span<const CheckpointMetric> checkpoint_metrics() {
  return metrics;
}

bool is_better(std::string_view metric, double value, double than) {
  const auto found = std::ranges::find(metrics, metric, &CheckpointMetric::name);
  return found != metrics.end() && found->falls ? value < than : value > than;
}

std::optional<BestCheckpoint> find_best_checkpoint(const fs::path& folder, std::string_view metric,
                                                   const fs::path& newest) {
  std::optional<BestCheckpoint> best;
  auto steps = steps_up_to(folder, newest);
  std::ranges::reverse(steps);
  for (const auto& step : steps) {
    const auto read = read_metrics(step);
    if (!read) continue;
    const auto found = read->find(std::string(metric));
    if (found == read->end() || !std::isfinite(found->second)) continue;
    if (!best || is_better(metric, found->second, best->value)) {
      best = BestCheckpoint{step, found->second};
    }
  }
  return best;
}

namespace {

/// Returns whether every step's metrics are readable; one that is not may be the best.
bool may_be_judged(const std::vector<fs::path>& steps) {
  return std::ranges::all_of(steps, [](const fs::path& step) {
    const auto read = read_metrics(step);
    return read || read.error().kind != ErrorKind::unavailable;
  });
}

}  // namespace

std::optional<fs::path> prune_checkpoints(const fs::path& folder, const fs::path& newest,
                                          const Retention& retention, std::int64_t fencing_token) {
  std::optional<fs::path> best;
  if (!retention.best.empty()) {
    if (auto found = find_best_checkpoint(folder, retention.best, newest)) best = found->path;
  }
  if (best) link_best(folder, *best, fencing_token);
  const auto steps = steps_up_to(folder, newest);
  if (!retention.best.empty() && !may_be_judged(steps)) return best;
  int kept = 0;
  std::vector<fs::path> unwanted;
  for (const auto& step : steps) {
    if (++kept > retention.keep && step != best) unwanted.push_back(step);
  }
  discard(unwanted, fencing_token);
  return best;
}

}  // namespace dllaunch
