// Checkpoints on disk: written atomically, found and verified, retained, fenced against later runs.
// Knows nothing about models or the training loop: a checkpoint is tensors and a position.
//
//   checkpoints/step-00000469/     complete, or absent
//     model.safetensors       weights, PyTorch's names and shapes
//     optimizer.safetensors   "conv1.weight.momentum_buffer" ...
//     state.json              position in the run, and XXH64 checksums of all three files
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "support/result.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/optimizers/loss_scale.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// Position of training in a run.
struct TrainPosition {
  std::int64_t epoch = 0;   // completed epochs
  std::int64_t step = 0;    // optimiser steps since the start of the run
  std::int64_t images = 0;  // images of the current epoch already used
  double loss_sum = 0;      // over those images
  std::int64_t correct = 0;
  double lr = 0;  // of the latest step; 0: no step yet, or not recorded (older versions)
  LossScale loss_scale = {};
};

struct Checkpoint {
  TrainPosition position;
  std::string model;
  std::string optimizer;
  std::uint64_t seed = 0;
  int ranks = 1;
  std::int64_t global_batch = 0;
  std::vector<std::string> class_names;
  Normalization normalization;
  std::map<std::string, double> metrics;  // of the epoch that ends here; empty: within an epoch
  TensorFile weights;
  TensorFile states;  // optimiser state
};

struct WrittenCheckpoint {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  bool best = false;  // best in its folder
};

/// Which checkpoints of a folder to keep.
struct Retention {
  int keep = 3;           // the newest ones
  std::string best = {};  // also keep the best by this metric; empty: none
};

/// Called after every piece written; may block to limit the rate.
using OnWritten = std::function<void(std::size_t bytes)>;

/// The right of this incarnation to write to the run. The default always allows it.
struct WriteRight {
  std::int64_t fencing_token = 0;
  /// Called right before a final name changes; on an error nothing changes.
  std::function<Result<Ok>()> check = [] { return Result<Ok>(Ok{}); };
};

/// Writes `folder`/step-NNNNNNNN under a temporary name, syncs it and renames it, replacing an
/// existing one like put_in_place(). Then prunes the folder according to `retention`. unavailable:
/// an I/O error (disk full, read-only); nothing new is left behind. Returns the error of `right` if
/// it refuses.
Result<WrittenCheckpoint> write_checkpoint(
    const std::filesystem::path& folder, Checkpoint checkpoint, const Retention& retention,
    const OnWritten& on_written = [](std::size_t) {}, const WriteRight& right = {});

/// Removes what an interrupted write_checkpoint() of this or an earlier incarnation left in
/// `folder`.
void remove_leftovers(const std::filesystem::path& folder, std::int64_t fencing_token = 0);

struct FoundCheckpoint {
  std::filesystem::path path;
  Checkpoint checkpoint;
};

/// A directory with a final name that is damaged.
struct RefusedCheckpoint {
  std::filesystem::path path;
  std::string why;  // "model.safetensors is truncated: 100 of 200 bytes"
};

struct CheckpointSearch {
  std::optional<FoundCheckpoint> found;    // the newest valid one
  std::vector<RefusedCheckpoint> refused;  // newer damaged ones, newest first
  /// Set if the folder, or a checkpoint newer than any valid one, cannot be read now and might be
  /// valid; `found` is then empty. Kind unavailable.
  std::optional<Error> unreadable;
};

/// Searches `folder`. A missing folder counts as empty.
CheckpointSearch find_newest_checkpoint(const std::filesystem::path& folder);

/// Returns the step directories in `folder`, newest first; empty without a folder. `failed` is set
/// if the listing is incomplete.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder,
                                                    std::error_code& failed);
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

/// bad_request names what is damaged or missing. unavailable: a file that cannot be read now.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& step_directory);

/// Returns the `metrics` of a step from its state.json only. Errors as for read_checkpoint().
Result<std::map<std::string, double>> read_metrics(const std::filesystem::path& step_directory);

/// Returns the XXH64 of the content as 16 hexadecimal digits.
std::string checksum(std::span<const std::byte> content);

/// state.json contains its own checksum, computed with these digits in its place.
constexpr std::string_view checksum_of_itself = "\"state.json\": \"";
constexpr std::string_view no_checksum = "0000000000000000";

}  // namespace dllaunch
