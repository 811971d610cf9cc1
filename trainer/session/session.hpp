// Everything that must be there before the first step, made from a configuration.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"
#include "support/result.hpp"
#include "support/say.hpp"
#include "trainer/checkpoints/checkpoint.hpp"
#include "trainer/checkpoints/fence.hpp"
#include "trainer/config/config.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/data/sampler.hpp"
#include "trainer/data/staging/dataset_staging.hpp"
#include "trainer/parameters/parameter_arenas.hpp"

namespace dllaunch {

struct PrepareOptions {
  TrainConfig config;
  std::filesystem::path run_dir;       // events.jsonl and checkpoints/ are written there
  int threads = 0;                     // that compute; 0: as many as the process may use CPUs
  int ranks_on_node = 1;               // that share its memory
  Say warn = [](std::string_view) {};  // hears of every checkpoint that was refused
  Say say = [](std::string_view) {};   // hears of progress on this node
  std::function<bool()> stop_requested = [] { return false; };  // asked while `auto` is found
  /// So long a checkpoint that cannot be read is waited for: its file system may be away.
  std::chrono::milliseconds storage_patience = std::chrono::seconds(30);
  // Both outlive the session and may be absent:
  Activity* activity = nullptr;  // told what this rank does
  Fence* fence = nullptr;        // asked before rank 0 writes
};

struct Session {
  TrainConfig config;
  std::filesystem::path run_dir;
  int threads = 0;
  Activity* activity = nullptr;
  Fence* fence = nullptr;  // on rank 0, where there is one
  StepShape shape;
  StagedCopy staged;  // where the data set was copied to; else nothing
  std::unique_ptr<Dataset> dataset;
  Normalization normalization;
  TargetKind judged = TargetKind::class_index;  // how good the network is
  Graph graph;
  std::string backend;      // "reference 1"
  std::string passed_over;  // why it is no faster one; empty: it is the first choice
  std::unique_ptr<Backend> opened;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<ParameterArenas> arenas;
  TrainPosition position;
  std::string resumed_from;                // path of a checkpoint; empty: from the start
  std::vector<RefusedCheckpoint> refused;  // on rank 0: those passed over for resumed_from
  std::string started_with;  // a line about weights of a file; empty: from the seed or resumed
  bool stopped = false;      // on request, before it was ready to train

  std::filesystem::path checkpoints() const { return run_dir / "checkpoints"; }
  std::int64_t generation() const { return fence == nullptr ? 0 : fence->generation(); }
  /// On rank 0, and asked for often: who took the run's directory over, if anybody did.
  std::optional<Error> taken_over() const {
    return fence == nullptr || fence->may_write() ? std::nullopt : fence->closed();
  }
  bool finished() const {
    return position.epoch >= config.epochs ||
           (config.max_steps && position.step >= *config.max_steps);
  }
};

/// Bytes, of the configuration, or what buckets are without a better idea.
double bucket_bytes(const RuntimeConfig& runtime);

/// The checkpoint that describes the session as it stands. On rank 0, where a sharded optimiser has
/// gathered its states and ranks have averaged their buffers.
Checkpoint snapshot(const Session& session);

/// How the session's images of `split` are read in the epoch it is at.
LoaderOptions loader_options(const Session& session, Split split);

/// For who reads what computes: that it prepares the images as well; empty: CPUs do.
std::string preparation_words(const Session& session);

}  // namespace dllaunch
