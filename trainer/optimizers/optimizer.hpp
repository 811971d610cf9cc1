// How weights follow gradients. One file an optimiser in trainer/optimizers/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch {

/// Options of all optimisers; each has some of them (OptimizerEntry::options). What they mean to
/// the user stands in optimizer_keys.cpp, what they do in the optimiser's own file.
struct OptimizerOptions {
  double lr = 0.01;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double alpha = 0.99;
  bool centered = false;
  double rho = 0.9;
  double lr_decay = 0;
  double trust_coefficient = 0.001;
  bool lr_in_momentum = true;
  bool momentum_correction = false;
  double rmsprop_lr = 3e-4;
  double center_epoch = 10;
  double period_epochs = 5;
};

/// The step whose gradients are applied. Everything an update depends on beside its arrays: there
/// is no hidden count that a resumed run would have to restore.
struct StepInfo {
  double lr = 0;           // the schedule's
  std::int64_t step = 1;   // 1-based, since the beginning of the run
  double epoch = 0;        // epochs done before it, with the part of the current one
  double previous_lr = 0;  // of the step before; 0: there was none
};

/// A piece of one parameter's slice of every arena: `elements` each, all of the same dtype. Pieces
/// are whole slices, but for a sharded optimiser, where each rank updates only its own pieces.
/// So an update looks at no other element; norms of a whole parameter come as values.
struct ParameterUpdate {
  std::size_t elements = 0;
  void* weights = nullptr;
  void* gradients = nullptr;           // only measure() may write to them
  std::span<void* const> states = {};  // in the order of OptimizerEntry::states
  bool one_dimensional = false;        // the parameter is a bias or of batch-norm
  double weight_norm = 0;              // of the whole parameter, where the optimiser measures
  double gradient_norm = 0;
};

/// Of one piece.
struct SquareSums {
  double weights = 0;
  double gradients = 0;
};

/// One optimiser; the table follows from table.hpp.
struct OptimizerEntry {
  std::string_view name;  // what the user types
  std::string_view summary;
  std::span<const std::string_view> options;  // those it has: keys of optimizer_keys()
  OptimizerOptions defaults;
  /// Names of the state arenas these options need; they start at zero. PyTorch's names.
  std::vector<std::string_view> (*states)(const OptimizerOptions& options);
  /// What pads a slot is zero and must stay zero, in weights and in states.
  void (*update)(DType type, const OptimizerOptions& options, const StepInfo& now,
                 const ParameterUpdate& slot);
  /// nullptr, or what runs over all pieces before the first update: sums of squares, which
  /// ParameterArenas adds up over a parameter and over ranks and hands to update() as norms. It may
  /// turn gradients into directions in place, which are measured instead (LAMB).
  SquareSums (*measure)(DType type, const OptimizerOptions& options, const StepInfo& now,
                        const ParameterUpdate& slot) = nullptr;
  bool directs = false;  // measure() does so: after an update the gradients are gone
  /// nullptr, or what is wrong with options that are fine each by itself; empty: nothing.
  std::string_view (*problem)(const OptimizerOptions& options) = nullptr;
};
std::span<const OptimizerEntry> optimizers();

/// nullptr: no such optimiser.
const OptimizerEntry* find_optimizer(std::string_view name);

}  // namespace dllaunch
