// Every option of optimisers by the name of its key, written out once more: what a key stores can
// be read back, and nothing else may have changed.
#pragma once

#include <map>
#include <string>

#include "support/json.hpp"
#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {

inline std::map<std::string, Json> option_fields(const OptimizerOptions& options) {
  return {{"lr", options.lr},
          {"momentum", options.momentum},
          {"weight_decay", options.weight_decay},
          {"nesterov", options.nesterov},
          {"betas", options.betas},
          {"eps", options.eps},
          {"alpha", options.alpha},
          {"centered", options.centered},
          {"rho", options.rho},
          {"lr_decay", options.lr_decay},
          {"trust_coefficient", options.trust_coefficient},
          {"lr_in_momentum", options.lr_in_momentum},
          {"momentum_correction", options.momentum_correction},
          {"rmsprop_lr", options.rmsprop_lr},
          {"center_epoch", options.center_epoch},
          {"period_epochs", options.period_epochs}};
}

/// No two numbers alike, all of them allowed, none of them a default anywhere; flags are `flags`.
inline OptimizerOptions distinct_options(bool flags) {
  return {.lr = 0.11,
          .momentum = 0.12,
          .weight_decay = 0.13,
          .nesterov = flags,
          .betas = {0.14, 0.15},
          .eps = 0.16,
          .alpha = 0.17,
          .centered = flags,
          .rho = 0.18,
          .lr_decay = 0.19,
          .trust_coefficient = 0.21,
          .lr_in_momentum = flags,
          .momentum_correction = flags,
          .rmsprop_lr = 0.22,
          .center_epoch = 0.23,
          .period_epochs = 0.24};
}

}  // namespace dllaunch
