#include "trainer/optimizers/optimizer.hpp"

#include "trainer/optimizers/host_loops.hpp"
#include "trainer/optimizers/table.hpp"

namespace dllaunch {
namespace {

template <typename... Listed>
constexpr std::array<OptimizerEntry, sizeof...(Listed)> entries_of(TypeList<Listed...>) {
  return {optimizer_entry<Listed>()...};
}

constexpr auto table = entries_of(Optimizers{});

}  // namespace

std::span<const OptimizerEntry> optimizers() {
  return table;
}

const OptimizerEntry* find_optimizer(std::string_view name) {
  for (const auto& entry : optimizers()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace dllaunch
