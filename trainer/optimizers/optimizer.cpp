#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {

const OptimizerEntry* find_optimizer(std::string_view name) {
  for (const auto& entry : optimizers()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace dllaunch
