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

double square_sum(DType type, const void* values, std::size_t count) {
  return with_type(type, [&](auto zero) {
    return sum_of_squares(static_cast<const decltype(zero)*>(values), count);
  });
}

void multiply(DType type, void* values, std::size_t count, double by) {
  with_type(type, [&](auto zero) {
    using Real = decltype(zero);
    auto* const at = static_cast<Real*>(values);
    const auto factor = static_cast<Real>(by);
    for (std::size_t i = 0; i < count; ++i) at[i] *= factor;
  });
}

void move_towards(DType type, void* average, const void* weights, std::size_t count, double share) {
  with_type(type, [&](auto zero) {
    using Real = decltype(zero);
    auto* const to = static_cast<Real*>(average);
    const auto* const from = static_cast<const Real*>(weights);
    const auto part = static_cast<Real>(share);
    for (std::size_t i = 0; i < count; ++i) to[i] += part * (from[i] - to[i]);
  });
}

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
