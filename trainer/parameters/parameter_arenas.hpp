// Weights, gradients and optimiser state of one rank, in flat arenas with one layout.
// Knows nothing about the training loop or files; checkpoints see tensors.
//
// Sharded (ZeRO-1: Rajbhandari et al. 2020), a rank holds the optimiser state of its part of each
// bucket, updates the weights there, and receives the other weights from the other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/gradients/arena.hpp"
#include "support/result.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/device_arenas.hpp"
#include "trainer/integrity/digest.hpp"
#include "trainer/optimizers/optimizer.hpp"
#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// Returns one row per slot for check_same_table(). Ranks with different tables would mix up
/// gradients.
std::vector<std::string> table_rows(const Executable& executable);

struct ArenaOptions {
  bool shard = false;
  /// Place arenas on the executable's device if the communicator reduces there or is solo. False:
  /// gradients are staged through the host (compression, gradient lag).
  bool on_device = true;
  std::optional<double> clip_norm = {};      // of all gradients, at most; above 0
  std::optional<double> average_decay = {};  // of a moving average of the weights, 0 .. 1
  /// False: weight decay only for parameters of two or more dimensions, as GPT-2's.
  bool decay_vectors = true;
  // Of a stage of a pipeline, for the norm of all gradients: sums over the stages, and the names of
  // parameters that another stage counts.
  SumOverRanks sum_over_stages = {};
  std::vector<std::string> counted_elsewhere = {};
};

class ParameterArenas {
 public:
  /// Collective. Places gradients where `communicator` reduces them fastest and attaches the
  /// executable to the arenas. All arenas start as zero. All arguments must outlive this.
  ParameterArenas(Executable& executable, Communicator& communicator,
                  const OptimizerEntry& optimizer, const OptimizerOptions& options,
                  const ArenaOptions& arenas = {});

  /// Gives another executable of the same graph these weights and gradients. It must not outlive
  /// this.
  void attach(Executable& another);

  /// Excludes the graph's frozen parameters from updates, bit for bit, and from plan() where
  /// possible. Call before the first deal().
  void freeze(const Graph& graph);
  bool frozen(int slot) const { return !trained_[static_cast<std::size_t>(slot)]; }

  /// Returns buckets of about this many bytes, the first one smaller. Sharded, each divides into
  /// one part per rank.
  std::vector<Bucket> plan(double bucket_bytes) const;
  /// Assigns each rank its parts of these buckets, which plan() returned, and moves the state
  /// there. Collective if sharded.
  void deal(std::vector<Bucket> buckets);

  /// Initialises weights from the seed and zeroes the optimiser state. With split parameters, call
  /// on every rank.
  void initialise(const Graph& graph, std::uint64_t seed);

  /// Whether the executable has slots with `rows`: each rank has other rows of these parameters,
  /// with gradients over the images of all ranks. They are not reduced. Not with `shard`.
  bool split() const { return first_split_ < trained_.size(); }

  /// Collective. Every rank gets rank 0's weights and optimiser state; of split parameters its rows
  /// of what rank 0 has loaded.
  void broadcast();

  /// Multiplies the gradients of trained slots that this rank updates (f32). Returns false if one
  /// of them was not finite.
  bool multiply_gradients(double by);

  /// Returns the norm of the gradients of all trained slots, of all stages, in double: the same on
  /// every rank. Collective if sharded or with sum_over_stages.
  double gradient_norm();

  /// Starts the moving average at the current weights. Call after broadcast(), if the training
  /// begins anew. Without average_decay nothing, like the next.
  void begin_average();
  /// Exchanges the weights and their average, on all ranks. Collective if sharded.
  void exchange_average();

  /// Clips the gradients to clip_norm, as torch.nn.utils.clip_grad_norm_: multiplies them by
  /// clip_norm / (norm + 1e-6) if that is below 1. Then applies one optimiser step to all slots,
  /// and adds the weights to the average. Collective if sharded: weights updated by other ranks
  /// are valid after wait_for_weights(). With `on_gpu`, work given to the GPU from then on waits
  /// for them instead, if it can; a second call must still end the wait. Optimisers that need norms
  /// (LARS, LAMB) overwrite the gradients with update directions.
  void begin_update(const StepInfo& now);
  void wait_for_weights(bool on_gpu = false);
  void update(const StepInfo& now) {
    begin_update(now);
    wait_for_weights();
  }

  /// Gathers all optimiser state on rank 0 until the next begin_update(). Collective if sharded.
  void gather_states();
  bool sharded() const { return shard_; }
  bool on_device() const { return device_optimizer_ != nullptr; }
  bool directs() const { return optimizer_.directs; }
  /// Whether an update waits on the host for norms.
  bool measures() const { return optimizer_.measure != nullptr || clip_norm_; }
  std::size_t state_bytes() const;  // optimiser state on this rank

  /// Hashes what this rank's replicas hold too: no split parameters; sharded, only the weights.
  /// Gradients: their sums, of trained slots. Call between steps.
  Digest digest(bool with_gradients) const;
  /// Of this rank's own gradient, in host memory, before it is reduced. Of all of it: what is
  /// left out could carry a wrong number to the other ranks unnoticed.
  std::uint64_t quick_hash_of_gradient(int slot) const;
  /// Flips one bit of what digest() hashes; of the weights if there is no state. For drills.
  void flip(ReplicaPart part, std::uint64_t bit);

  /// Returns dense tensors named "conv1.weight" and "conv1.weight.momentum_buffer", of split
  /// parameters this rank's rows. Sharded, states() is valid only on rank 0 after gather_states().
  std::vector<Tensor> weights() const;
  std::vector<Tensor> states() const;
  /// Collective if split. Of weights() or states(), rank 0 gets the whole parameters; other ranks
  /// get no tensors.
  std::vector<Tensor> join(std::vector<Tensor> own) const;

  /// Call on rank 0, before broadcast(), with whole parameters. bad_request names a tensor that is
  /// missing, unexpected, or has the wrong type or shape.
  Result<Ok> load_weights(std::span<const Tensor> tensors);
  Result<Ok> load_states(std::span<const Tensor> tensors);

  const ArenaLayout& layout() const { return layout_; }
  /// Device memory if on_device().
  std::span<std::byte> gradients() const { return gradients_.bytes; }

 private:
  struct Memory {
    std::shared_ptr<std::byte> owner;  // nullptr: owned by the communicator
    std::span<std::byte> bytes;
  };
  static Memory allocate_on_host(std::size_t bytes);
  Memory allocate(std::size_t bytes) const;
  Memory allocate_reduced(std::size_t bytes) const;
  void copy(void* to, const void* from, std::size_t bytes) const;

  /// A range of the arenas that this rank updates, and the offset of its state.
  struct Own {
    ArenaRange range;
    std::size_t state_offset = 0;  // elements
    bool vector = false;           // of trained_runs(), if spares_vectors_: of vectors alone
  };
  std::vector<Own> own_parts() const;
  std::vector<Own> trained_runs(const Own& own) const;
  std::size_t own_elements() const;
  /// Calls visit(slot index, piece) for every piece of a trained slot in this part.
  template <typename Visit>
  void visit_pieces(const Own& own, Visit visit);
  void measure(const StepInfo& now);
  /// Calls visit(part) for every run of trained slots in this part.
  template <typename Visit>
  void visit_runs(const Own& own, Visit visit);
  void update_own(const StepInfo& now, const Own& own);
  void clip_gradients(double most);
  void average_own(const Own& own);
  void gather_weights(std::size_t bucket, const Own& own);
  void exchange(std::byte* one, std::byte* other, std::size_t bytes) const;
  std::size_t optimizer_states() const { return states_.size() - (average_decay_ ? 1 : 0); }
  std::byte* average_at(const Own& own) const { return state_at(states_.size() - 1, own); }
  bool is_vector(std::size_t slot) const { return executable_.slots()[slot].shape.size() <= 1; }
  void broadcast_states();
  std::byte* state_at(std::size_t state, const Own& own) const;

  std::vector<ArenaRange> summed_gradients() const;
  void add_to(Hash64& hash, std::span<const std::byte> memory) const;

  double square_sum_of_gradients(bool split);
  void sum_split_measures();
  void deal_rows();
  void deal_rows(int slot, const Memory& arena, const Tensor* whole);
  bool is_split(std::size_t slot) const { return slot >= first_split_; }

  void append_tensors(const Memory& arena, const std::string& suffix,
                      std::vector<Tensor>& tensors) const;
  Result<Ok> load(std::span<const Memory> arenas, std::span<const std::string> suffixes,
                  std::span<const Tensor> tensors);

  Executable& executable_;
  Communicator& communicator_;
  const OptimizerEntry& optimizer_;
  OptimizerOptions options_;
  ArenaLayout layout_;
  OptimizerOptions undecayed_;  // options_ without weight decay
  bool shard_;
  std::optional<double> clip_norm_;
  std::optional<double> average_decay_;
  bool spares_vectors_;  // from weight decay
  SumOverRanks sum_over_stages_;
  std::vector<bool> counted_elsewhere_;                // per slot
  std::unique_ptr<DeviceOptimizer> device_optimizer_;  // if the arenas are on the device
  std::unique_ptr<DeviceOptimizer> undecayed_optimizer_;
  DeviceArenas* device_ = nullptr;  // likewise
  std::vector<bool> trained_;       // per slot: not frozen
  std::size_t first_split_ = 0;     // slot; those from here on have `rows`
  std::vector<Bucket> buckets_;     // if sharded: the buckets in use
  std::vector<Memory> weights_;     // one element
  std::vector<Memory> states_;      // one per state name, own elements only;
                                    // last the average, if any
  std::vector<Memory> all_states_;  // after gather_states(): all elements, on rank 0's host
  std::vector<std::string> state_suffixes_;
  std::map<std::string, Tensor> loaded_;  // whole split parameters and their states, on rank 0
  Memory gradients_;
  std::vector<Pending> gathering_;  // weights, after begin_update()
  std::vector<SquareSums> sums_;    // per slot, over all ranks; only if the optimiser measures
};

}  // namespace dllaunch
