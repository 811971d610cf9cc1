// What numpy arrays say of images: a class, a set of classes, or real numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "support/result.hpp"
#include "trainer/data/datasets/npy_header.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Integers [n] are classes, integers or booleans [n,k] sets of k classes, floats [n] or [n,k] real
/// numbers. Rows of the latter two stay in the file.
struct NpyTargets {
  NpyFile file;
  TargetKind kind = TargetKind::class_index;
  int width = 0;                          // numbers of a row; of classes 0
  std::vector<std::int32_t> labels = {};  // of classes: not checked

  /// bad_request: a number that is neither 0 nor 1 in a set, or that is not finite; names the file.
  Result<Ok> read(std::int64_t index, std::span<float> row) const;
};

/// bad_request: as open_npy, or not so many rows.
Result<NpyTargets> open_npy_targets(const std::filesystem::path& path, std::uint64_t images);

}  // namespace dllaunch
