// Which checkpoints stay on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trainer/checkpoints/checkpoint.hpp"

namespace dllaunch {

/// A number of an epoch by which one checkpoint is better than another.
struct CheckpointMetric {
  std::string_view name;  // as in the `epoch` event
  bool falls = false;     // the lower, the better
  std::string_view summary;
};
std::span<const CheckpointMetric> checkpoint_metrics();

/// False where one of them is no number.
bool is_better(std::string_view metric, double value, double than);

struct BestCheckpoint {
  std::filesystem::path path;
  double value = 0;
};

/// Of the steps in `folder` up to `newest`, by what their state.json says of `metric`; of equals
/// the first.
std::optional<BestCheckpoint> find_best_checkpoint(const std::filesystem::path& folder,
                                                   std::string_view metric,
                                                   const std::filesystem::path& newest);

/// Removes the steps before `newest` that `retention` does not want, and lets the link
/// `folder`/best point to the best one, whose path it returns. `generation`: of this life of the
/// run, for temporary names.
std::optional<std::filesystem::path> prune_checkpoints(const std::filesystem::path& folder,
                                                       const std::filesystem::path& newest,
                                                       const Retention& retention,
                                                       std::int64_t generation = 0);

}  // namespace dllaunch
