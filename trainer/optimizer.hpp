// How weights follow gradients. One file an optimiser in trainer/optimizers/.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/dtype.hpp"

namespace dllaunch {

struct OptimizerOptions {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
};

/// A piece of one parameter's slice of every arena: `elements` each, all of the same dtype. Pieces
/// are whole slices, but for a sharded optimiser, where each rank updates only its own pieces.
///
/// So an update looks at no other element. One that needs the norm of a whole parameter (LARS,
/// LAMB) gets it here as a value: ParameterArenas, which deals out the pieces, adds up each piece's
/// sum of squares over a slot, and over ranks in one small all_reduce for all slots, before the
/// updates.
struct ParameterUpdate {
  std::size_t elements = 0;
  void* weights = nullptr;
  const void* gradients = nullptr;
  std::span<void* const> states;  // in the order of OptimizerEntry::states
};

/// One line an optimiser; the table is written by the build from trainer/optimizers/*.cpp.
struct OptimizerEntry {
  std::string_view name;  // what the user types
  std::string_view summary;
  /// Names of the state arenas these options need; they start at zero. PyTorch's names.
  std::vector<std::string_view> (*states)(const OptimizerOptions& options);
  /// `lr` is the schedule's for this step. What pads a slot is zero and must stay zero.
  void (*update)(DType type, const OptimizerOptions& options, double lr,
                 const ParameterUpdate& slot);
};
std::span<const OptimizerEntry> optimizers();

/// nullptr: no such optimiser.
const OptimizerEntry* find_optimizer(std::string_view name);

}  // namespace dllaunch
