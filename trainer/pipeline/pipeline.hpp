// A rank's part in a pipeline: its stage, its neighbours, and the ranks with the same stage.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/peers/peers.hpp"
#include "runtime/gradients/arena.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/graph/stages.hpp"
#include "trainer/pipeline/schedule.hpp"
#include "trainer/pipeline/stage_links.hpp"
#include "trainer/pipeline/stage_wait.hpp"

namespace dllaunch {

/// A parameter that several stages have.
struct SharedParameter {
  std::string name;
  std::vector<int> stages;   // ascending
  std::uint64_t number = 0;  // among the names of all stages: the same on each
};

/// Returns those that `stage` shares with others, by number.
std::vector<SharedParameter> shared_with_others(std::span<const Graph> stages, int stage);

/// Opens the sums among the ranks of a stage. Collective among them.
using OpenReplicas = std::function<Result<std::unique_ptr<Communicator>>(
    std::unique_ptr<Peers> group, std::string& why_not_nccl)>;
/// open_host_group().
Result<std::unique_ptr<Communicator>> open_host_replicas(std::unique_ptr<Peers> group,
                                                         std::string& why_not_nccl);

class Pipeline {
 public:
  /// Collective. `world`: all ranks, a multiple of `stages`. Errors are those of `replicas`.
  /// `activity` outlives this and may be nullptr.
  static Result<std::unique_ptr<Pipeline>> open(std::unique_ptr<Peers> world, int stages,
                                                Activity* activity,
                                                const OpenReplicas& replicas = open_host_replicas);

  const StagePlace& place() const { return place_; }
  /// The ranks that have this stage: their gradients are summed.
  Communicator& replicas() { return *replicas_; }
  /// Why they are not nccl's; empty: they are, or no GPU computes.
  const std::string& no_nccl() const { return no_nccl_; }
  /// The stages of this rank's replica, in order.
  StageWait stages() const {
    return {.place = place_, .peers = stages_.get(), .activity = activity_};
  }

  /// Sets the graphs of all stages, and what travels between them.
  void connect(std::vector<Graph> graphs, SampleSizes sizes);
  const Graph& graph() const { return graphs_[static_cast<std::size_t>(place_.stage)]; }
  const std::vector<Graph>& graphs() const { return graphs_; }
  StageLinks& links() { return *links_; }

  /// Adds an executable besides the session's, for a further micro-batch in flight. All have the
  /// weights and gradients of the first.
  void add(std::unique_ptr<Executable> another) { others_.push_back(std::move(another)); }
  std::span<const std::unique_ptr<Executable>> others() const { return others_; }
  /// Returns the executable for a pass; for a forward pass it has the buffers of the one that ran
  /// before. `first` is the session's.
  Executable& executable_for(const Pass& pass, Executable& first);
  /// Gives the session's executable the newest buffers, after the step's passes.
  void end_step(Executable& first);

  /// Whether this stage shares parameters with others.
  bool shares() const { return !shared_.empty(); }
  /// Collective over the stages of the replica: sums the gradients of those parameters, with the
  /// same bits on each stage. `gradients` may be device memory.
  void sum_shared_gradients(const Executable& first, const ArenaLayout& layout,
                            std::span<std::byte> gradients);
  /// Returns the shared parameters that an earlier stage has too.
  std::vector<std::string> counted_before() const;

 private:
  Pipeline() = default;
  void copy_buffers(const Executable& from, Executable& to) const;

  StagePlace place_;
  Activity* activity_ = nullptr;
  std::string no_nccl_;
  std::unique_ptr<Peers> stages_;  // outlives the links
  std::unique_ptr<Communicator> replicas_;
  std::vector<Graph> graphs_;
  std::vector<SharedParameter> shared_;  // that this stage shares with others
  std::unique_ptr<StageLinks> links_;
  std::vector<std::unique_ptr<Executable>> others_;
  int in_flight_ = 0;             // micro-batches between their passes
  Executable* newest_ = nullptr;  // whose buffers are
  std::uint64_t sums_ = 0;        // of shared gradients so far
};

}  // namespace dllaunch
