// Which checkpoints to keep on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trainer/checkpoints/checkpoint.hpp"

namespace dllaunch {

/// A metric of an epoch that ranks checkpoints.
struct CheckpointMetric {
  std::string_view name;  // as in the `epoch` event
  bool falls = false;     // lower is better
  std::string_view summary;
};
std::span<const CheckpointMetric> checkpoint_metrics();

/// False if either value is NaN.
bool is_better(std::string_view metric, double value, double than);

struct BestCheckpoint {
  std::filesystem::path path;
  double value = 0;
};

/// Returns the best step in `folder` up to `newest`, by `metric` in state.json; the earliest of
/// equals.
std::optional<BestCheckpoint> find_best_checkpoint(const std::filesystem::path& folder,
                                                   std::string_view metric,
                                                   const std::filesystem::path& newest);

/// Removes the steps before `newest` that `retention` does not keep, points the link `folder`/best
/// to the best one and returns its path. `fencing_token`: for temporary names.
std::optional<std::filesystem::path> prune_checkpoints(const std::filesystem::path& folder,
                                                       const std::filesystem::path& newest,
                                                       const Retention& retention,
                                                       std::int64_t fencing_token = 0);

}  // namespace dllaunch
