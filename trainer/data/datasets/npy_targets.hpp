// Targets from numpy arrays: a class, a set of classes, or real numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "support/result.hpp"
#include "trainer/data/datasets/npy_header.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Integers [n] are classes, integers or booleans [n,k] are sets of k classes, floats [n] or [n,k]
/// are real numbers. Sets and real numbers stay in the file.
struct NpyTargets {
  NpyFile file;
  TargetKind kind = TargetKind::class_index;
  int width = 0;                          // numbers per row; 0 for classes
  std::vector<std::int32_t> labels = {};  // for classes; range not checked

  /// bad_request names the file: a set with a value other than 0 or 1, or a non-finite number.
  Result<Ok> read(std::int64_t index, std::span<float> row) const;
};

/// bad_request as for open_npy(), or if the number of rows is not `images`.
Result<NpyTargets> open_npy_targets(const std::filesystem::path& path, std::uint64_t images);

}  // namespace dllaunch
