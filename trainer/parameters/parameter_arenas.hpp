// Weights, gradients and optimiser state of one rank: flat arenas of one layout. Sharded (ZeRO-1:
// Rajbhandari et al. 2020), a rank has the state of its part of each bucket only, updates the
// weights there, and gets the others' from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/gradients/arena.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/device_arenas.hpp"
#include "trainer/optimizers/optimizer.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// One row per slot for check_same_table: ranks that differ in one would mix up their gradients.
std::vector<std::string> table_rows(const Executable& executable);

struct ArenaOptions {
  bool shard = false;
  /// Arenas lie on the executable's device where the communicator reduces them there, or is solo.
  /// False: gradients pass through the host on their way (compressed, or a step late).
  bool on_device = true;
};

class ParameterArenas {
 public:
  /// Collective: gradients lie where `communicator` reduces them fastest. Attaches the executable
  /// to the arenas. Everything is zero. All arguments must outlive this.
  ParameterArenas(Executable& executable, Communicator& communicator,
                  const OptimizerEntry& optimizer, const OptimizerOptions& options,
                  const ArenaOptions& arenas = {});

  /// From now on updates leave the graph's frozen parameters as they are, to the last bit, and
  /// plan() leaves them out where it can. Before the first deal().
  void freeze(const Graph& graph);
  bool frozen(int slot) const { return !trained_[static_cast<std::size_t>(slot)]; }

  /// Buckets of about so many bytes, the first smaller; sharded, each can be dealt out.
  std::vector<Bucket> plan(double bucket_bytes) const;
  /// Collective where sharded: from now on each rank has its parts of these buckets, which plan()
  /// made. State moves to where it belongs now.
  void deal(std::vector<Bucket> buckets);

  /// Weights from the seed, optimiser state zero.
  void initialise(const Graph& graph, std::uint64_t seed);

  /// Collective: every rank ends with rank 0's weights and optimiser state.
  void broadcast();

  /// This rank's own gradients of trained slots times `by`. False: one of them is no number.
  bool multiply_gradients(double by);

  /// One optimiser step over all slots. Collective where sharded; the weights that other ranks have
  /// updated are there after wait_for_weights(). An optimiser that measures leaves its directions
  /// where the gradients were.
  void begin_update(const StepInfo& now);
  void wait_for_weights();
  void update(const StepInfo& now) {
    begin_update(now);
    wait_for_weights();
  }

  /// Collective where sharded: rank 0 gets all state together, until the next begin_update().
  void gather_states();
  bool sharded() const { return shard_; }
  bool on_device() const { return device_optimizer_ != nullptr; }
  bool directs() const { return optimizer_.directs; }
  std::size_t state_bytes() const;  // of the optimiser, on this rank

  /// Plain and dense, named "conv1.weight", and "conv1.weight.momentum_buffer". States, where
  /// sharded, only on rank 0 and after gather_states().
  std::vector<Tensor> weights() const;
  std::vector<Tensor> states() const;

  /// On rank 0, before broadcast().
  /// bad_request: a tensor that is missing, left over, or of another type or shape, by name.
  Result<Ok> load_weights(std::span<const Tensor> tensors);
  Result<Ok> load_states(std::span<const Tensor> tensors);

  const ArenaLayout& layout() const { return layout_; }
  /// Of the device where on_device() says so.
  std::span<std::byte> gradients() const { return gradients_.bytes; }

 private:
  struct Memory {
    std::shared_ptr<std::byte> owner;  // nullptr: the communicator's
    std::span<std::byte> bytes;
  };
  static Memory allocate_on_host(std::size_t bytes);
  Memory allocate(std::size_t bytes) const;
  Memory allocate_reduced(std::size_t bytes) const;
  void copy(void* to, const void* from, std::size_t bytes) const;

  /// Elements of the arenas that this rank updates, and where their state begins.
  struct Own {
    ArenaRange range;
    std::size_t state_offset = 0;  // elements
  };
  std::vector<Own> own_parts() const;
  std::vector<Own> trained_runs(const Own& own) const;
  std::size_t own_elements() const;
  /// Calls visit(slot's index, its piece) for the pieces of trained slots in this part.
  template <typename Visit>
  void visit_pieces(const Own& own, Visit visit);
  void measure(const StepInfo& now);
  /// Calls visit(part) for the runs of trained slots in this part.
  template <typename Visit>
  void visit_runs(const Own& own, Visit visit);
  void update_own(const StepInfo& now, const Own& own);
  void broadcast_states();
  std::byte* state_at(std::size_t state, const Own& own) const;

  void append_tensors(const Memory& arena, const std::string& suffix,
                      std::vector<Tensor>& tensors) const;
  Result<Ok> load(std::span<const Memory> arenas, std::span<const std::string> suffixes,
                  std::span<const Tensor> tensors);

  Executable& executable_;
  Communicator& communicator_;
  const OptimizerEntry& optimizer_;
  OptimizerOptions options_;
  ArenaLayout layout_;
  bool shard_;
  std::unique_ptr<DeviceOptimizer> device_optimizer_;  // where the arenas are on the device
  DeviceArenas* device_ = nullptr;                     // there too
  std::vector<bool> trained_;                          // per slot: not frozen
  std::vector<Bucket> buckets_;                        // sharded: what is dealt out
  std::vector<Memory> weights_;                        // one
  std::vector<Memory> states_;                         // one per name, of own elements only
  std::vector<Memory> all_states_;  // sharded, on rank 0's host, at times: of all elements
  std::vector<std::string> state_suffixes_;
  Memory gradients_;
  std::vector<Pending> gathering_;  // weights, after begin_update()
  std::vector<SquareSums> sums_;    // of each slot, over all ranks; where the optimiser measures
};

}  // namespace dllaunch
