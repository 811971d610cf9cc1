#include "launcher/report/stored_placement.hpp"

#include <utility>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

StoredPlacement stored_placement(const Json& plan) {
  if (!plan.is_object()) return {};
  auto read = bound_plan_from_json(plan);
  if (!read) return {};
  return {.topology = std::move(read->topology), .placement = std::move(read->placement)};
}

}  // namespace dllaunch
