// Weights, gradients and optimiser state of one rank: flat arenas of one layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/arena.hpp"
#include "runtime/communicator.hpp"
#include "topology/result.hpp"
#include "trainer/backend.hpp"
#include "trainer/optimizer.hpp"
#include "trainer/safetensors.hpp"

namespace dllaunch {

/// One row per slot for check_same_table: ranks that differ in one would mix up their gradients.
std::vector<std::string> table_rows(const Executable& executable);

class ParameterArenas {
 public:
  /// Collective: gradients lie where `communicator` reduces them fastest. Attaches the executable
  /// to the arenas. Everything is zero. All arguments must outlive this.
  ParameterArenas(Executable& executable, Communicator& communicator,
                  const OptimizerEntry& optimizer, const OptimizerOptions& options);

  void initialise(const Graph& graph, std::uint64_t seed);

  /// Collective: every rank ends with rank 0's weights and optimiser state.
  void broadcast();

  /// One optimiser step over all slots.
  void update(double lr);

  /// Plain and dense, named "conv1.weight", and "conv1.weight.momentum_buffer".
  std::vector<Tensor> weights() const;
  std::vector<Tensor> states() const;

  /// bad_request: a tensor that is missing, left over, or of another type or shape, by name.
  Result<Ok> load_weights(std::span<const Tensor> tensors);
  Result<Ok> load_states(std::span<const Tensor> tensors);

  const ArenaLayout& layout() const { return layout_; }
  std::span<std::byte> gradients() const { return gradients_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Memory {
    std::unique_ptr<std::byte[], Free> owner;
    std::span<std::byte> bytes;
  };
  static Memory allocate(std::size_t bytes);

  void append_tensors(const Memory& arena, const std::string& suffix,
                      std::vector<Tensor>& tensors) const;
  Result<Ok> load(std::span<const Memory> arenas, std::span<const std::string> suffixes,
                  std::span<const Tensor> tensors);

  Executable& executable_;
  Communicator& communicator_;
  const OptimizerEntry& optimizer_;
  OptimizerOptions options_;
  ArenaLayout layout_;
  std::vector<Memory> weights_;  // one
  std::vector<Memory> states_;   // one per name
  std::vector<std::string> state_suffixes_;
  std::span<std::byte> gradients_;
};

}  // namespace dllaunch
