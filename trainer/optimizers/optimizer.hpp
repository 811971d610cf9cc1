// Optimizers: how gradients update weights, one file each in trainer/optimizers/.
// They know arrays and options, not the network or how ranks share the work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch {

/// Options of all optimisers; each uses some (OptimizerEntry::options). optimizer_keys.cpp
/// documents them for users.
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

/// The step whose gradients are applied: all an update depends on besides its arrays. There is no
/// hidden counter that a resumed run would have to restore.
struct StepInfo {
  double lr = 0;           // from the schedule
  std::int64_t step = 1;   // 1-based, over the whole run
  double epoch = 0;        // epochs completed before it, with the fraction of the current one
  double previous_lr = 0;  // of the previous step; 0: none
};

/// A piece of one parameter's slice of every arena: `elements` each, all of the same dtype. Pieces
/// are whole slices, except with a sharded optimiser, where each rank updates only its own pieces.
/// An update therefore uses no other elements; norms of a whole parameter are passed as values.
struct ParameterUpdate {
  std::size_t elements = 0;
  void* weights = nullptr;
  void* gradients = nullptr;           // only measure() may write to them
  std::span<void* const> states = {};  // in the order of OptimizerEntry::states
  bool one_dimensional = false;        // a bias or a batch-norm parameter
  double weight_norm = 0;              // of the whole parameter, if the optimiser measures
  double gradient_norm = 0;
};

/// Returns the sum of the squares of `count` elements, in double, in an order that depends only on
/// `count`.
double square_sum(DType type, const void* values, std::size_t count);
void multiply(DType type, void* values, std::size_t count, double by);
/// average += share * (weights - average), the form of torch.optim.swa_utils' get_ema_multi_avg_fn
/// with share = 1 - decay.
void move_towards(DType type, void* average, const void* weights, std::size_t count, double share);

/// Sums of squares over one piece.
struct SquareSums {
  double weights = 0;
  double gradients = 0;
};

/// One optimiser; table.hpp lists them.
struct OptimizerEntry {
  std::string_view name;  // name in the job file
  std::string_view summary;
  std::span<const std::string_view> options;  // keys of optimizer_keys()
  OptimizerOptions defaults;
  /// Returns the names (PyTorch's) of the state arenas for these options; they start at zero.
  std::vector<std::string_view> (*states)(const OptimizerOptions& options);
  /// Padding of a slot is zero and must stay zero, in weights and states.
  void (*update)(DType type, const OptimizerOptions& options, const StepInfo& now,
                 const ParameterUpdate& slot);
  /// Runs on all pieces before the first update; nullptr: not needed. Returns sums of squares;
  /// ParameterArenas adds them up per parameter over all ranks and passes them to update() as
  /// norms. May replace the gradients by update directions, which are then measured (LAMB).
  SquareSums (*measure)(DType type, const OptimizerOptions& options, const StepInfo& now,
                        const ParameterUpdate& slot) = nullptr;
  bool directs = false;  // measure() replaces gradients
  /// Returns which options conflict; empty: none. nullptr: never.
  std::string_view (*problem)(const OptimizerOptions& options) = nullptr;
};
std::span<const OptimizerEntry> optimizers();

/// Returns nullptr if there is no such optimiser.
const OptimizerEntry* find_optimizer(std::string_view name);

}  // namespace dllaunch
