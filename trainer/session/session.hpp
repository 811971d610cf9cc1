// A training session: model, data, weights and position in a run, made from a configuration.
// Does not train: trainer/training has the loop, trainer/tuning the trials.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
#include "trainer/pipeline/pipeline.hpp"
#include "trainer/split/split_network.hpp"

namespace dllaunch {

struct PrepareOptions {
  TrainConfig config;
  std::filesystem::path run_dir;       // contains events.jsonl and checkpoints/
  int threads = 0;                     // compute threads; 0: one per available CPU
  int cpus = 0;                        // that this rank may use; 0: unknown
  int ranks_on_node = 1;               // ranks that share the node's memory
  Say warn = [](std::string_view) {};  // receives every damaged checkpoint
  Say say = [](std::string_view) {};   // receives progress of this node
  std::string no_nccl = {};            // why `auto` of runtime.allreduce did not take nccl
  std::function<bool()> stop_requested = [] { return false; };  // polled while `auto` is searched
                                                                // for
  /// How long to wait for an unreadable checkpoint: its file system may be temporarily away.
  std::chrono::milliseconds storage_patience = std::chrono::seconds(30);
  /// For a pipeline: open messages between all ranks, and sums among those of a stage; says why
  /// those are not nccl's. Collective.
  std::function<Result<std::unique_ptr<Peers>>()> open_peers = {};
  OpenReplicas open_replicas = open_host_replicas;
  // Both must outlive the session and may be nullptr:
  Activity* activity = nullptr;  // set to what this rank is doing
  Fence* fence = nullptr;        // checked before rank 0 writes
};

struct Session {
  TrainConfig config;
  std::filesystem::path run_dir;
  int threads = 0;
  int cpus = 0;
  Activity* activity = nullptr;
  Fence* fence = nullptr;  // rank 0 only, may be nullptr
  StepShape shape;
  StagedCopy staged;  // local copy of the data set, if any
  std::unique_ptr<Dataset> dataset;
  Normalization normalization;
  TargetKind judged = TargetKind::class_index;  // decides the metrics
  Graph graph;                                  // that this rank computes
  std::optional<Graph> network;                 // the whole one, if `graph` is a stage of it
  std::unique_ptr<Backend> opened;              // of all executables
  std::unique_ptr<Pipeline> pipeline;           // if `graph` is a stage, else nullptr
  std::vector<SplitPart> parts;                 // of `graph`, if layers are split among the ranks
  Communicator* replicas = nullptr;             // the ranks that compute `graph` on other images
  std::string backend;                          // "reference 1"
  std::string passed_over;  // why a faster backend was not used; empty: none is faster
  std::string no_nccl;      // why `auto` of runtime.allreduce did not take nccl
  std::unique_ptr<Executable> executable;
  std::unique_ptr<ParameterArenas> arenas;
  TrainPosition position;
  std::string resumed_from;                // path of a checkpoint; empty: from the start
  std::vector<RefusedCheckpoint> refused;  // rank 0: damaged ones newer than resumed_from
  std::string started_with;  // log line about init_from; empty: from the seed, or resumed
  // Bytes of the host's memory that batches of images may take.
  std::int64_t image_memory = std::numeric_limits<std::int64_t>::max();
  bool stopped = false;  // stopped on request before it was ready to train

  const Graph& whole() const { return network ? *network : graph; }
  StagePlace place() const {
    if (pipeline != nullptr) return pipeline->place();
    return {.replicas = replicas->size(), .replica = replicas->rank()};
  }
  /// Whether a forward pass waits for the same pass of the other ranks.
  bool in_step() const { return pipeline != nullptr || !parts.empty(); }
  int replica() const { return replicas->rank(); }
  /// Returns what runs this pass of the current step.
  Executable& executable_for(const Pass& pass) {
    return pipeline == nullptr ? *executable : pipeline->executable_for(pass, *executable);
  }
  /// Whether the host sums gradients with other stages.
  bool shares() const { return pipeline != nullptr && pipeline->shares(); }
  /// Those of the executable; zeros in a pipeline, whose stages have several with a clock each.
  StepTimes take_step_times() const {
    return pipeline == nullptr ? executable->take_step_times() : StepTimes();
  }
  /// Labels of a sample: its tokens, or one.
  int labels() const { return std::max(dataset->tokens(), 1); }
  /// The tokens of so many samples; nullopt: they have none.
  std::optional<double> tokens_of(double samples) const {
    return dataset->tokens() > 0 ? std::optional(samples * dataset->tokens()) : std::nullopt;
  }
  std::filesystem::path checkpoints() const { return run_dir / "checkpoints"; }
  std::int64_t fencing_token() const { return fence == nullptr ? 0 : fence->fencing_token(); }
  /// Returns the process that took over the run directory, if any. Rank 0 only. Cheap.
  std::optional<Error> taken_over() const {
    return fence == nullptr || fence->may_write() ? std::nullopt : fence->closed();
  }
  bool finished() const {
    return position.epoch >= config.epochs ||
           (config.max_steps && position.step >= *config.max_steps);
  }
};

/// Returns the configured bucket size in bytes, or the default.
double bucket_bytes(const RuntimeConfig& runtime);

/// `on_device`: as for ArenaOptions.
ArenaOptions arena_options(const TrainConfig& config, bool on_device);

/// The tensors of a checkpoint: see model_tensors.hpp.
struct GatheredTensors {
  std::vector<Tensor> model;
  std::vector<Tensor> states;
};

/// Returns the checkpoint of the session's current state. Rank 0 only.
Checkpoint snapshot(const Session& session, GatheredTensors tensors);

/// Returns how to load the session's images of `split` in its current epoch.
LoaderOptions loader_options(const Session& session, Split split);

/// unavailable: session.image_memory has no room for a batch of images.
Result<Ok> check_image_memory(const Session& session);

/// Log suffix: says if the backend also prepares images, else empty.
std::string preparation_words(const Session& session);

}  // namespace dllaunch
