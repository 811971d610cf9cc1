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

/// One parameter's slice of every arena: `elements` each, all of the same dtype.
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
