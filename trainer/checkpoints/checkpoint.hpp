// The state of training on disk: a directory that is complete or does not exist.
//
//   checkpoints/step-00000469/
//     model.safetensors       weights, PyTorch's names and shapes
//     optimizer.safetensors   "conv1.weight.momentum_buffer" ...
//     state.json              where training was, and XXH64 checksums of all three files
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

/// How far training has come.
struct TrainPosition {
  std::int64_t epoch = 0;   // complete ones
  std::int64_t step = 0;    // optimiser steps since the beginning of the run
  std::int64_t images = 0;  // of the current epoch's order, already used
  double loss_sum = 0;      // over those images
  std::int64_t correct = 0;
  double lr = 0;  // of the latest step; 0: there was none, or an older program did not keep it
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
  std::map<std::string, double> metrics;  // of the epoch that ends here; empty: none does
  TensorFile weights;
  TensorFile states;  // of the optimiser
};

struct WrittenCheckpoint {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  bool best = false;  // of those in its folder
};

/// Which checkpoints of a folder stay.
struct Retention {
  int keep = 3;           // newest ones
  std::string best = {};  // and the one where this metric is best; empty: only those
};

/// Hears of every piece that was written, and may hold the writer back.
using OnWritten = std::function<void(std::size_t bytes)>;

/// Which life of a run writes, and whether it still may. By default there is only one.
struct WriteRight {
  std::int64_t generation = 0;
  /// Asked right before anything with a final name changes; where it refuses, nothing does.
  std::function<Result<Ok>()> check = [] { return Result<Ok>(Ok{}); };
};

/// Writes `folder`/step-NNNNNNNN under a temporary name, syncs it and renames it; one of that name
/// is replaced, as put_in_place() does. Then removes what `retention` does not want.
/// unavailable: the file system refuses (disk full, read-only), and nothing new is left behind.
/// What `right` says where it refuses.
Result<WrittenCheckpoint> write_checkpoint(
    const std::filesystem::path& folder, Checkpoint checkpoint, const Retention& retention,
    const OnWritten& on_written = [](std::size_t) {}, const WriteRight& right = {});

/// Removes what an interrupted write_checkpoint() of this life or an earlier one left in `folder`.
void remove_leftovers(const std::filesystem::path& folder, std::int64_t generation = 0);

struct FoundCheckpoint {
  std::filesystem::path path;
  Checkpoint checkpoint;
};

/// A directory with a final name that is not sound.
struct RefusedCheckpoint {
  std::filesystem::path path;
  std::string why;  // "model.safetensors is truncated: 100 of 200 bytes"
};

struct CheckpointSearch {
  std::optional<FoundCheckpoint> found;    // the newest sound one
  std::vector<RefusedCheckpoint> refused;  // newer than that, newest first
  /// The folder, or a checkpoint newer than any sound one, cannot be read now, and so may be sound:
  /// nothing was found then. Kind unavailable.
  std::optional<Error> unreadable;
};

/// Looks through `folder`; one that does not exist holds nothing.
CheckpointSearch find_newest_checkpoint(const std::filesystem::path& folder);

/// Step directories in `folder`, newest first; none where there is no folder. `failed`: it cannot
/// be listed to its end.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder,
                                                    std::error_code& failed);
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

/// bad_request: what is damaged or missing, named. unavailable: a file that cannot be read now.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& step_directory);

/// The `metrics` of a step, from its state.json alone. Errors as read_checkpoint().
Result<std::map<std::string, double>> read_metrics(const std::filesystem::path& step_directory);

/// XXH64 of a file's content as 16 hexadecimal digits.
std::string checksum(std::span<const std::byte> content);

/// state.json vouches for itself too: its own checksum is taken with these digits in its place.
constexpr std::string_view checksum_of_itself = "\"state.json\": \"";
constexpr std::string_view no_checksum = "0000000000000000";

}  // namespace dllaunch
